/**
 * The address of the local engine for the gateway. It stays the same while llama-server is started again, and holds a request until
 * its weights are present and llama-server answers. A request is passed on unread: its path has the model.
 *
 *     POST /model:{name}/v1/{path}    passed to llama-server
 *     GET  /status                    weights, downloads and loaded models
 *     POST /pull, /cancel, /load, /unload, /remove   {"model": name}
 */
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import {
	Agent,
	createServer,
	type IncomingMessage,
	request,
	type Server,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { LocalProblem, type ProblemCode } from "./problem.ts";

/** What answers for a model: an address, and the key of llama-server. */
export interface Engine {
	/** Resolves when the path of the model can be called. Throws a problem. */
	prepare(model: string, path: string, signal: AbortSignal): Promise<{ url: URL; key: string }>;
	/** A sentence about a model that llama-server could not load. Absent: it has another reason to fail. */
	loadFailure(model: string): Promise<LocalProblem | undefined>;
	status(): Promise<unknown>;
	command(name: string, body: unknown): Promise<unknown>;
}

const STATUS: Readonly<Record<ProblemCode, number>> = {
	weights_missing: 404,
	weights_downloading: 503,
	weights_unavailable: 502,
	no_room: 507,
	task_unsupported: 501,
	weights_unreadable: 500,
	engine_unavailable: 503,
};
const MAX_COMMAND_BYTES = 10_000;
const COMMANDS = /^\/(pull|cancel|load|unload|remove)$/;
const PASSED = /^\/model:([^/]+)(\/v1\/[\w/-]+|\/(?:(?:de)?tokenize|predict))$/;
/** Of one connection, which the other one has by itself. */
const CONNECTION_HEADERS = ["authorization", "connection", "host", "keep-alive", "transfer-encoding"];

export interface Door {
	url: string;
	close(): void;
}

export async function openDoor(engine: Engine, key: string): Promise<Door> {
	// llama-server closes a connection after an answer without saying so. A request on such a one would be lost.
	const agent = new Agent({ keepAlive: false });
	const server = createServer((incoming, answer) => {
		handle(incoming, answer).catch((error: unknown) => refuse(answer, error));
	});
	const expected = Buffer.from(`Bearer ${key}`);

	async function handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
		const sent = Buffer.from(incoming.headers.authorization ?? "");
		if (sent.length !== expected.length || !timingSafeEqual(sent, expected))
			return send(answer, 401, { error: { message: "The key is wrong", code: "invalid_api_key" } });
		const { method, url = "" } = incoming;
		if (method === "GET" && url === "/status") return send(answer, 200, await engine.status());
		const [, command] = (method === "POST" && COMMANDS.exec(url)) || [];
		if (command !== undefined)
			return send(answer, 200, await engine.command(command, await readJson(incoming)));
		const [, name, path] = (method === "POST" && PASSED.exec(url)) || [];
		if (name === undefined || path === undefined)
			return send(answer, 404, {
				error: { message: "The local engine has no such address", code: "not_found" },
			});
		const leaving = new AbortController();
		answer.once("close", () => {
			if (!answer.writableFinished) leaving.abort();
		});
		const model = decodeURIComponent(name);
		await pass(
			{ incoming, answer, path, agent, target: await engine.prepare(model, path, leaving.signal) },
			() => engine.loadFailure(model),
		);
	}

	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	server.unref();
	// The gateway keeps connections open longer than Node's five seconds.
	server.keepAliveTimeout = 600_000;
	server.requestTimeout = 0;
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: () => closeServer(server, agent),
	};
}

function closeServer(server: Server, agent: Agent): void {
	server.close();
	server.closeAllConnections();
	agent.destroy();
}

interface Passed {
	incoming: IncomingMessage;
	answer: ServerResponse;
	path: string;
	agent: Agent;
	target: { url: URL; key: string };
}

/** Passes a request and its answer on, until either side ends. */
function pass(
	{ incoming, answer, path, agent, target }: Passed,
	loadFailure: () => Promise<LocalProblem | undefined>,
): Promise<void> {
	if (answer.destroyed) return Promise.resolve();
	const headers = { ...incoming.headers };
	for (const name of CONNECTION_HEADERS) delete headers[name];
	const { hostname, port } = target.url;
	const call = request({
		...{ agent, hostname, port, path, method: "POST" },
		headers: { ...headers, authorization: `Bearer ${target.key}` },
	});
	const passReply = (reply: IncomingMessage): void => {
		for (const name of CONNECTION_HEADERS) delete reply.headers[name];
		reply.once("error", () => answer.destroy());
		reply.once("aborted", () => answer.destroy());
		const status = reply.statusCode ?? 502;
		if (isUnmeasuredJson(reply)) sendWhole(reply, answer, status);
		else {
			answer.writeHead(status, reply.headers);
			reply.pipe(answer);
		}
	};
	return new Promise((resolve, reject) => {
		answer.once("close", () => {
			call.destroy();
			resolve();
		});
		call.once("error", (error) => reject(answer.headersSent ? error : ended(error)));
		call.once("response", (reply) => {
			if ((reply.statusCode ?? 0) < 500) return passReply(reply);
			loadFailure().then(
				(failure) => (failure ? reject(failure) : passReply(reply)),
				// It has ended.
				() => passReply(reply),
			);
		});
		incoming.pipe(call);
	});
}

/** llama-server sends JSON in pieces without a length. Nobody can read it before its end. */
const isUnmeasuredJson = ({ headers }: IncomingMessage): boolean =>
	headers["content-length"] === undefined && /^application\/json\b/.test(headers["content-type"] ?? "");

/** In one piece: each piece would wake three processes. */
function sendWhole(reply: IncomingMessage, answer: ServerResponse, status: number): void {
	const pieces: Buffer[] = [];
	reply.on("data", (piece: Buffer) => pieces.push(piece));
	reply.once("end", () => {
		const body = Buffer.concat(pieces);
		answer.writeHead(status, { ...reply.headers, "content-length": body.length });
		answer.end(body);
	});
}

const ended = (cause: Error): LocalProblem =>
	new LocalProblem("engine_unavailable", "llama-server has ended, and starts again", {
		retryAfter: 1,
		cause,
	});

function refuse(answer: ServerResponse, error: unknown): void {
	if (answer.headersSent || answer.destroyed) {
		answer.destroy();
		return;
	}
	if (error instanceof LocalProblem) {
		const { code, message, retryAfter } = error;
		if (retryAfter !== undefined) answer.setHeader("retry-after", String(Math.max(1, Math.ceil(retryAfter))));
		send(answer, STATUS[code], { error: { message, code, type: "local_engine" } });
	} else send(answer, 500, { error: { message: "The local engine failed", code: "internal_error" } });
}

function send(answer: ServerResponse, status: number, body: unknown): void {
	const text = JSON.stringify(body);
	answer.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
	answer.end(text);
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
	let text = "";
	for await (const piece of incoming) {
		text += piece;
		if (text.length > MAX_COMMAND_BYTES) break;
	}
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
