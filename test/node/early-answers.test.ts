/**
 * Answers that are complete before their request is: every caller gets them, however much it still sends, also one that reads only when it has
 * sent all.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { guardConnections } from "../../scripts/connections/guard.ts";
import { Lingering } from "../../scripts/connections/lingering.ts";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { runScript, stopScripts } from "./script.ts";

const OPERATOR = "an-operators-token-for-early-answers";
const RUN = "/client/v4/accounts/acme/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8";
const AT_ONCE = 16;
const authorized = `authorization: Bearer ${OPERATOR}`;

const PIECE = Buffer.alloc(64 * 1024, "x");

interface EarlyRequest {
	startLine: string;
	headers?: readonly string[];
	bytes: number;
	isChunked: boolean;
	/** Reads nothing until the whole body is sent, as many clients do. */
	readsLast: boolean;
}

/** The status of the answer, or how the connection ended without one. */
async function statusOf(port: number, request: EarlyRequest): Promise<string> {
	const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
	let text = "";
	let failure = "closed";
	socket.on("error", ({ message }) => (failure = message));
	if (request.readsLast) socket.pause();
	socket.on("data", (bytes) => (text += bytes));
	// Not by `once`, which rejects if a write fails: the answer may be there.
	const answered = new Promise<void>((resolve) => {
		socket.on("data", () => isComplete(text) && resolve());
		socket.once("end", resolve).once("close", () => resolve());
	});
	await send(socket, request);
	socket.resume();
	await answered;
	socket.destroy();
	return isComplete(text) ? text.slice(9, 12) : `${failure} after ${text.length} bytes`;
}

function isComplete(text: string): boolean {
	const [head = "", ...body] = text.split("\r\n\r\n");
	const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
	return body.length > 0 && body.join("\r\n\r\n").length >= Number(length ?? 0);
}

async function send(
	socket: Socket,
	{ startLine, headers = [], bytes, isChunked }: EarlyRequest,
): Promise<void> {
	const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
	const lines = [startLine, "host: x", "content-type: application/json", ...headers, framing];
	socket.write(`${lines.join("\r\n")}\r\n\r\n`);
	const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
	for (let unsent = bytes; unsent > 0 && socket.writable; ) {
		const piece = PIECE.subarray(0, unsent);
		unsent -= piece.length;
		if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
		let isTaken = socket.write(piece);
		if (isChunked) isTaken = socket.write("\r\n");
		if (!isTaken) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
	}
	const sent = Promise.withResolvers<void>();
	socket.write(isChunked ? "0\r\n\r\n" : "", () => sent.resolve());
	await Promise.race([sent.promise, closed]);
}

interface Refusal {
	startLine: string;
	headers?: string[];
	status: string;
}

const REFUSALS: Record<string, Refusal> = {
	"a wrong token": {
		startLine: `POST ${RUN} HTTP/1.1`,
		headers: ["authorization: Bearer wrong"],
		status: "401",
	},
	"no token": { startLine: `POST ${RUN} HTTP/1.1`, status: "401" },
	"a path without a route": {
		startLine: "POST /client/v4/accounts/acme/ai/none HTTP/1.1",
		headers: [authorized],
		status: "400",
	},
	"another method": { startLine: `PUT ${RUN} HTTP/1.1`, headers: [authorized], status: "405" },
	"two hosts, which the guard refuses": {
		startLine: `POST ${RUN} HTTP/1.1`,
		headers: ["host: y"],
		status: "400",
	},
	"a header that the guard refuses": {
		startLine: `POST ${RUN} HTTP/1.1`,
		headers: [`x: ${"y".repeat(70_000)}`],
		status: "431",
	},
};

describe.skipIf(process.platform === "win32")("ganglion serve answers early", () => {
	let folder = "";
	let port = 0;
	beforeAll(async () => {
		folder = mkdtempSync(join(tmpdir(), "ganglion-early-"));
		port = await freePort();
		const script = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
			env: { ADMIN_TOKEN: OPERATOR },
		});
		await script.until(/Accounts and bills are in/);
	});
	afterAll(() => {
		stopScripts();
		rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	});

	const LARGE = 20 * 1024 * 1024;
	const sizes = Object.entries({ "1 KB": 1024, "70 KB": 70 * 1024, "1 MB": 1024 * 1024 });
	it.each([
		...sizes.flatMap(([size, bytes]) =>
			Object.entries(REFUSALS).map(([what, refusal]) => [size, what, bytes, refusal] as const),
		),
		["20 MB", "a wrong token", LARGE, REFUSALS["a wrong token"] as Refusal] as const,
	])("to a body of %s with %s", async (_, __, bytes, { status, ...request }) => {
		for (const isChunked of [false, true])
			for (const readsLast of bytes < LARGE ? [false, true] : [true]) {
				const kind = { ...request, bytes, isChunked, readsLast };
				const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(port, kind)));
				expect(answers, JSON.stringify(kind)).toEqual(Array.from({ length: AT_ONCE }, () => status));
			}
	});
});

describe.skipIf(process.platform === "win32")("the guard before a runtime that answers early", () => {
	const cleanups: (() => void)[] = [];
	afterEach(() => {
		for (const cleanup of cleanups.splice(0).reverse()) cleanup();
	});

	async function guarded(runtime: (connection: Socket) => void): Promise<number> {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-early-"));
		const target = join(folder, "http.sock");
		const server = createServer((connection) => runtime(connection.on("error", () => {}))).listen(target);
		await once(server, "listening");
		const port = await freePort();
		const options = {
			host: "127.0.0.1",
			port,
			target,
			maxConnections: 100,
			idleMs: () => 60_000,
			checkMs: 10,
		};
		const guard = await guardConnections(options);
		cleanups.push(() => {
			guard.server.close();
			server.close();
			rmSync(folder, { recursive: true, force: true });
		});
		return port;
	}

	const kinds = [false, true].flatMap((isChunked) =>
		[false, true].map((readsLast) => ({ isChunked, readsLast })),
	);
	it.each(kinds)("and closes with unread bytes: %o", async (kind) => {
		const port = await guarded((connection) => {
			connection.once("data", () => {
				connection.write("HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nsent", () =>
					connection.destroy(),
				);
			});
		});
		const request = { startLine: "POST / HTTP/1.1", bytes: 1024 * 1024, ...kind };
		const answers = await Promise.all(Array.from({ length: 64 }, () => statusOf(port, request)));
		expect(answers).toEqual(Array.from({ length: 64 }, () => "403"));
	});

	it("and closes the connection, to a caller who reads late", async () => {
		const bytes = 16 * 1024 * 1024;
		const port = await guarded((connection) => {
			connection.once("data", () => {
				connection.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`);
				connection.end(Buffer.alloc(bytes, "x"));
			});
		});
		const socket = createConnection({ port, host: "127.0.0.1" });
		socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
		await once(socket, "data");
		socket.pause();
		await wait(2_500);
		let read = 0;
		socket.on("data", (piece) => (read += piece.length)).resume();
		await once(socket, "close");
		expect(read).toBeGreaterThan(bytes - 256 * 1024);
	});

	it("closes the connection of a caller who sends for ever, after some bytes", async () => {
		const port = await guarded((connection) => {
			connection.once("data", () =>
				connection.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nsent"),
			);
		});
		const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
		const closed = new Promise((resolve) => socket.once("close", resolve));
		socket.resume();
		socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n");
		const sendOn = (): void => {
			while (socket.writable && socket.write(PIECE));
		};
		socket.on("drain", sendOn);
		sendOn();
		await closed;
		expect(socket.bytesWritten).toBeGreaterThan(20 * 1024 * 1024);
		expect(socket.bytesWritten).toBeLessThan(60 * 1024 * 1024);
	});
});

it.each([
	["a second without a byte", { every: 1_100, bytes: 1 }, 1_100],
	["ten seconds", { every: 500, bytes: 1 }, 10_500],
	["32 MiB", { every: 100, bytes: 4 * 1024 * 1024 }, 900],
])("a connection lingers for at most %s", (_, { every, bytes }, endsAt) => {
	const lingering = new Lingering(0);
	let at = 0;
	do {
		at += every;
		if (every < 1_000) lingering.drop(bytes, at);
	} while (!lingering.isOver(at) && at < 60_000);
	expect(at).toBe(endsAt);
});
