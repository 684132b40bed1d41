/**
 * The address of the local engine for the gateway. It stays the same while llama-server is started again, and holds a request until
 * its weights are present and llama-server answers. The path of a request has the model, so nothing else of it is read.
 *
 *     POST /model:{name}/v1/{path}    passed to llama-server
 *     GET  /status                    weights, downloads and loaded models
 *     POST /pull, /cancel, /load, /unload, /remove   {"model": name}
 */
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { Agent, IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createServer, request } from "../http.ts";
import { LocalProblem, type ProblemCode } from "./problem.ts";

/** A server that has a model. */
export interface Address {
	/** For messages: what answers there. */
	server: string;
	url: URL;
	agent: Agent;
	/** Later calls of the model may go there from the gateway itself. It has the same key. */
	isOpen?: boolean;
}

/** What answers for a model. */
export interface Engine {
	/** Resolves when the path of the model can be called. A later address is called if an earlier one does not answer. Throws a problem. */
	prepare(model: string, path: string, signal: AbortSignal): Promise<readonly Address[]>;
	/** A sentence about a model that llama-server could not load. Absent: it has another reason to fail. */
	loadFailure(model: string): Promise<LocalProblem | undefined>;
	status(): Promise<unknown>;
	command(name: string, body: unknown): Promise<unknown>;
}

const STATUS: Readonly<Record<ProblemCode, number>> = {
	weights_missing: 404,
	licence_not_accepted: 403,
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
/** The address that may be called itself (`src/backends/local/shortcut.ts`). */
const ADDRESS_HEADER = "x-ganglion-engine";
/** Of one connection, which the other one has by itself. */
const CONNECTION_HEADERS = ["connection", "host", "keep-alive", "transfer-encoding"];

export interface Door {
	url: string;
	close(): void;
}

export async function openDoor(engine: Engine, key: string): Promise<Door> {
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
		const prepare = (): Promise<readonly Address[]> => engine.prepare(model, path, leaving.signal);
		const [addresses, body] = await Promise.all([prepare(), readWhole(incoming)]);
		const passed = { headers: incoming.headers, body, path, signal: leaving.signal };
		const { reply, address } = await callUntilAnswered(addresses, passed, prepare);
		// Its process may have ended meanwhile.
		const failure =
			(reply.statusCode ?? 0) < 500 ? undefined : await engine.loadFailure(model).catch(() => undefined);
		if (!failure) {
			if (address.isOpen) answer.setHeader(ADDRESS_HEADER, address.url.origin);
			return passReply(reply, answer);
		}
		reply.destroy();
		throw failure;
	}

	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	server.unref();
	// The gateway keeps connections open longer than Node's five seconds.
	server.keepAliveTimeout = 600_000;
	server.requestTimeout = 0;
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: () => closeServer(server),
	};
}

function closeServer(server: Server): void {
	server.close();
	server.closeAllConnections();
}

async function readWhole(incoming: IncomingMessage): Promise<Buffer> {
	const pieces: Buffer[] = [];
	for await (const piece of incoming) pieces.push(piece);
	return Buffer.concat(pieces);
}

interface Passed {
	headers: OutgoingHttpHeaders;
	body: Buffer;
	path: string;
	/** The caller has left. */
	signal: AbortSignal;
}

/** How long connections are refused before this process notices the end. After that `prepare` waits for the restart. */
const NOTICE_MS = 2_000;
const PAUSE_MS = 20;

interface Answered {
	reply: IncomingMessage;
	address: Address;
}

/**
 * The reply of the first address that answers. Calls again while all addresses refuse connections, until their end is noticed. A request whose
 * connection broke is repeated once: it may itself end the server.
 */
async function callUntilAnswered(
	addresses: readonly Address[],
	passed: Passed,
	prepare: () => Promise<readonly Address[]>,
): Promise<Answered> {
	let refusedMs = 0;
	let hasRepeated = false;
	for (let at = addresses; ; at = await prepare()) {
		const calledAt = performance.now();
		let areRefused = true;
		let failure: unknown;
		let isLast = refusedMs >= NOTICE_MS;
		for (const address of at)
			try {
				return { reply: await callOne(address, passed), address };
			} catch (error) {
				failure = error;
				if (isRefused(error)) continue;
				areRefused = false;
				isLast = hasRepeated || passed.signal.aborted;
				if (isLast) break;
				hasRepeated = true;
			}
		if (isLast)
			throw new LocalProblem("engine_unavailable", `${at.at(-1)?.server} has ended, and starts again`, {
				...{ retryAfter: 1, cause: failure },
			});
		await wait(PAUSE_MS);
		if (areRefused) refusedMs += performance.now() - calledAt;
	}
}

const isRefused = (error: unknown): boolean =>
	error instanceof Error && "code" in error && error.code === "ECONNREFUSED";

function callOne({ url, agent }: Address, { body, path, signal, ...sent }: Passed): Promise<IncomingMessage> {
	const headers = { ...sent.headers };
	for (const name of CONNECTION_HEADERS) delete headers[name];
	headers["content-length"] = body.length;
	const { hostname, port } = url;
	return new Promise((resolve, reject) => {
		const outgoing = request({ agent, hostname, port, path, headers, signal, method: "POST" });
		// Also after the response.
		outgoing.on("error", reject);
		outgoing.once("response", resolve);
		outgoing.end(body);
	});
}

/** Passes a reply on, until either side ends. */
function passReply(reply: IncomingMessage, answer: ServerResponse): void {
	for (const name of CONNECTION_HEADERS) delete reply.headers[name];
	reply.once("error", () => answer.destroy());
	reply.once("aborted", () => answer.destroy());
	const status = reply.statusCode ?? 502;
	if (isUnmeasuredJson(reply)) sendWhole(reply, answer, status);
	else {
		answer.writeHead(status, reply.headers);
		reply.pipe(answer);
	}
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
