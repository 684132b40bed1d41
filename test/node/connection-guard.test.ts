/** The connection guard of `npm run serve`, before a server of the test. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import {
	Agent,
	createServer,
	request as httpRequest,
	type IncomingMessage,
	type RequestListener,
	type Server,
} from "node:http";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ConnectionTimes } from "../../scripts/connections/connection-context.ts";
import { type ConnectionGuard, guardConnections, TIMES } from "../../scripts/connections/guard.ts";
import { IdleTime } from "../../scripts/connections/idle-time.ts";
import { type Placed, Places } from "../../scripts/connections/places.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ask, connect, receives } from "./connections.ts";

const OPERATOR_TOKEN = "the-operators-token-of-the-guard-test";
const LONG_MS = 60_000;
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

const cleanups: (() => void)[] = [];
afterEach(() => {
	for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** What a socket receives until it closes. */
async function received(socket: Socket): Promise<string> {
	let text = "";
	socket.on("data", (bytes) => (text += bytes));
	await once(socket, "close");
	return text;
}

const connectFrom = async (port: number, localAddress: string): Promise<Socket> => {
	const socket = createConnection({ port, host: "127.0.0.1", localAddress }).on("error", () => {});
	await once(socket, "connect");
	return socket;
};

/** The status, or that the connection ended without one. */
const resultOf = (port: number, agent: Agent): Promise<string> =>
	new Promise((resolve) => {
		const sent = httpRequest({ port, agent }, (answer) => {
			answer.resume().once("end", () => resolve(String(answer.statusCode)));
		});
		sent.once("error", () => resolve("reset")).end();
	});

/** With a mask that changes nothing. */
function binaryFrame(payload: Buffer): Buffer {
	const header = Buffer.alloc(14);
	header.set([0x82, 0xff]);
	header.writeBigUInt64BE(BigInt(payload.length), 2);
	return Buffer.concat([header, payload]);
}

type GuardedOptions = Partial<Omit<ConnectionTimes, "idleMs">> & {
	idleMs?: number;
	answer?: RequestListener;
	/** The gateway has accepted them. */
	acceptedTokens?: readonly string[];
};

/** The websockets at the runtime, and what they have received. */
interface Upgraded {
	sockets: Socket[];
	bytes: Buffer[];
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The entrypoint `Connections`: its answers to probes name the accepted tokens. */
async function answerProbes(countsSocket: string, tokens: readonly string[]) {
	const server = createServer((request, response) => {
		request.resume();
		response.end(
			request.url?.startsWith("/probe") ? JSON.stringify({ position: 1, hashes: tokens.map(sha256) }) : "",
		);
	});
	server.listen(countsSocket);
	await once(server, "listening");
	return {
		countsSocket,
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

describe.skipIf(process.platform === "win32")("the guard of connections", () => {
	async function guarded(
		maxConnections: number,
		{
			answer = (_, response) => void response.end("from the runtime"),
			acceptedTokens,
			...times
		}: GuardedOptions = {},
	): Promise<{
		port: number;
		guard: ConnectionGuard;
		runtime: Server;
		accepted: () => number;
		upgraded: Upgraded;
	}> {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-guard-"));
		const target = join(folder, "http.sock");
		let accepted = 0;
		const runtime = createServer({ keepAliveTimeout: LONG_MS }, answer);
		runtime.on("connection", () => accepted++);
		const upgraded: Upgraded = { sockets: [], bytes: [] };
		runtime.on("upgrade", async ({ url }, socket) => {
			if (url === "/slow") await sleep(50);
			if (url === "/silent") return;
			if (url === "/refused")
				return void socket.write("HTTP/1.1 401 Unauthorized\r\ncontent-length: 7\r\n\r\nrefused");
			upgraded.sockets.push(socket as Socket);
			socket.on("data", (bytes: Buffer) => upgraded.bytes.push(bytes));
			// A frame of 5 bytes that has begun.
			const first = url === "/begun" ? "\x02\x05begu" : "";
			socket.write(
				`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n${first}`,
			);
			if (!first) socket.on("data", (bytes: Buffer) => socket.write(bytes));
			socket.on("error", () => {});
		});
		runtime.listen(target);
		await once(runtime, "listening");
		const port = await freePort();
		const probes = acceptedTokens && (await answerProbes(join(folder, "counts.sock"), acceptedTokens));
		const guard = await guardConnections({
			...(probes && { countsSocket: probes.countsSocket }),
			host: "127.0.0.1",
			port,
			target,
			maxConnections,
			...{ firstByteMs: LONG_MS, requestMs: LONG_MS, keepAliveMs: LONG_MS, unreadMs: LONG_MS, ...times },
			idleMs: () => times.idleMs ?? LONG_MS,
			operatorHash: () => sha256(OPERATOR_TOKEN),
			checkMs: 10,
		});
		cleanups.push(() => {
			guard.server.close();
			probes?.close();
			runtime.closeAllConnections();
			runtime.close();
			rmSync(folder, { recursive: true, force: true });
		});
		return { port, guard, runtime, accepted: () => accepted, upgraded };
	}

	it("passes requests and answers on", async () => {
		const { port } = await guarded(1);
		expect(await ask(port, "/", "x")).toEqual({ status: 200, body: "from the runtime" });
	});

	it("passes bodies of any size and form on, and many requests of one connection", async () => {
		const { port } = await guarded(1, {
			answer: async (request, response) => {
				let size = 0;
				for await (const bytes of request) size += bytes.length;
				response.end(`${request.method} ${size};`);
			},
		});
		const caller = await connect(port);
		const body = "x".repeat(100_000);
		caller.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}${GET}`);
		caller.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhel");
		await receives(caller, "GET 0;");
		caller.write("lo\r\nA\r\n0123456789\r");
		caller.write("\n0\r\ntrailer: y\r\n\r");
		caller.write("\n");
		await receives(caller, "POST 15;");
		caller.write("HEAD / HTTP/1.1\r\nhost: x\r\n\r\n");
		await receives(caller, "HTTP/1.1 200 OK");
		caller.write(`POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n`);
		await receives(caller, "HTTP/1.1 100 Continue");
		caller.write("abc");
		await receives(caller, "POST 3;");
		caller.destroy();
	});

	it("answers 503 beyond the maximum, with the error where each client reads it, and closes", async () => {
		const { port } = await guarded(2, { answer: () => {} });
		const sockets = await Promise.all([connect(port), connect(port)]);
		for (const socket of sockets) socket.write(GET);
		const { status, body } = await ask(port, "/", "x");
		expect(status).toBe(503);
		const message =
			"Capacity temporarily exceeded, please try again: all connections of the gateway are in use.";
		expect(JSON.parse(body)).toEqual({
			result: null,
			success: false,
			errors: [{ code: 3040, message }],
			messages: [],
			error: { type: "overloaded_error", code: 3040, message },
		});
		for (const socket of sockets) socket.destroy();
	});

	describe("before a runtime that is behind", () => {
		const BEHIND_MS = 1_000;
		const requests = (count: number, path = "/"): string =>
			`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(count);
		const CALLER = "127.0.4.1";

		/** The caller has used more than its part. */
		async function busy(options: Parameters<typeof guarded>[1] = {}) {
			const before = await guarded(24, { answer: ({ url }, response) => void response.end(url), ...options });
			const { pace } = before.guard;
			pace.probed(BEHIND_MS);
			pace.use({ key: CALLER, weight: 0.2 }, 1_000);
			return { ...before, pace };
		}

		it("holds the requests of a busy caller in their order, and answers another one at once", async () => {
			const { port, pace, accepted } = await busy();
			const socket = await connectFrom(port, CALLER);
			const answers = receives(socket, "/last");
			socket.write(`${requests(40)}${requests(1, "/last")}`);
			await expect.poll(() => pace.waiting).toBe(1);
			expect(accepted()).toBe(0);
			await expect(ask(port, "/", "x")).resolves.toMatchObject({ status: 200 });
			pace.end();
			await answers;
			expect(accepted()).toBe(2);
		});

		describe("a caller with an accepted token, which has used more than its part", () => {
			const TOKEN = `glt_guard_${"a".repeat(43)}`;

			async function spent() {
				const before = await guarded(24, {
					answer: ({ url }, response) => {
						if (url !== "/held") response.end(url);
					},
					acceptedTokens: [TOKEN],
				});
				const { callers, pace } = before.guard;
				const held = await connectFrom(before.port, "127.0.4.9");
				held.write(requests(1, "/held"));
				await expect.poll(() => callers.isKnown([sha256(TOKEN)])).toBe(true);
				pace.probed(BEHIND_MS);
				pace.use({ key: `${CALLER} ${sha256(TOKEN)}`, weight: 1 }, 10_000);
				return { ...before, pace };
			}

			it.each([
				["alone", "/", [`authorization: Bearer ${TOKEN}`]],
				["after an invented one", "/", ["cf-aig-authorization: Bearer x", `authorization: Bearer ${TOKEN}`]],
				["before an invented one", "/", [`authorization: Bearer ${TOKEN}`, "cf-aig-authorization: Bearer x"]],
				["for AI Gateway", "/", ["authorization: Bearer x", `cf-aig-authorization: Bearer ${TOKEN}`]],
				["of Anthropic's SDK", "/", [`x-api-key: ${TOKEN}`, "authorization: Bearer x", "api-key: x"]],
				["of Azure's SDK", "/", ["x-api-key: x", `api-key: ${TOKEN}`]],
				["of Google's SDK", "/", [`x-goog-api-key: ${TOKEN}`, "cf-aig-authorization: Bearer x"]],
				["in the query", `/?alt=sse&key=${TOKEN}`, ["authorization: Bearer x"]],
				["encoded in the query", `/?key=${TOKEN.replace("g", "%67")}`, ["x-goog-api-key: x"]],
				["of a provider's SDK", "/", [`authorization: Key ${TOKEN}`, "x-api-key: x"]],
				[
					"in a subprotocol",
					"/",
					[`sec-websocket-protocol: a, cf-aig-authorization.${TOKEN}`, "authorization: Bearer x"],
				],
			])("waits, with its token %s", async (_, path, headers) => {
				const { port, pace, accepted } = await spent();
				const before = accepted();
				const socket = await connectFrom(port, CALLER);
				socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${headers.join("\r\n")}\r\n\r\n`);
				await expect.poll(() => pace.waiting).toBe(1);
				expect(accepted()).toBe(before);
				pace.end();
			});

			it("is another one than its address, whose caller invents credentials that get an answer", async () => {
				const { port, pace } = await spent();
				const socket = await connectFrom(port, CALLER);
				const invented = (number: number): string =>
					`GET /answer-${number} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer invented-${number}\r\n\r\n`;
				socket.write(invented(0));
				await receives(socket, "/answer-0");
				pace.use({ key: CALLER, weight: 0.2 }, 10_000);
				// The answer has used the part of the address: its connection is not read for now.
				const { waiting } = pace;
				for (const number of [0, 1]) {
					const other = await connectFrom(port, CALLER);
					other.write(invented(number));
					await expect.poll(() => pace.waiting).toBe(waiting + number + 1);
				}
				pace.end();
			});
		});

		it("holds no request of the operator, and no health check", async () => {
			const { port, pace } = await busy();
			const socket = await connectFrom(port, CALLER);
			socket.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
			await receives(socket, "/health");
			socket.write(`GET /own HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n\r\n`);
			await receives(socket, "/own");
			expect(pace.waiting).toBe(0);
		});

		it("does not hold the answer of a health check whose caller uses more than its part meanwhile", async () => {
			const large = "x".repeat(2_000_000);
			const { port, guard } = await guarded(24, {
				answer: (_, response) => void response.end(`${large}end`),
			});
			guard.pace.probed(BEHIND_MS);
			const wait = vi.spyOn(guard.pace, "wait");
			const socket = await connectFrom(port, CALLER);
			const answered = receives(socket, "end");
			socket.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
			await answered;
			expect(wait).not.toHaveBeenCalled();
			socket.destroy();
		});

		it("does not charge the answer of a request to the health check that follows it", async () => {
			const { promise: more, resolve: sendMore } = Promise.withResolvers<void>();
			const size = 2_000_000;
			const { port, guard } = await guarded(24, {
				async answer({ url }, response) {
					if (url === "/health") return void response.end("healthy");
					response.write("begun");
					await more;
					response.end("x".repeat(size));
				},
			});
			guard.pace.probed(BEHIND_MS);
			const units = new Map<string, number>();
			const use = guard.pace.use.bind(guard.pace);
			vi.spyOn(guard.pace, "use").mockImplementation((one, more) => {
				units.set(one.key, (units.get(one.key) ?? 0) + more);
				use(one, more);
			});
			const socket = await connectFrom(port, CALLER);
			socket.write(requests(1));
			await receives(socket, "begun");
			const answered = receives(socket, "healthy");
			socket.write(requests(1, "/health"));
			await expect.poll(() => units.get("probe")).toBeGreaterThanOrEqual(1);
			sendMore();
			await answered;
			expect(units.get("probe")).toBeLessThan(2);
			expect(units.get(CALLER)).toBeGreaterThan(size / 32_768);
			socket.destroy();
		});

		it("keeps the place of a request that waits while the one before it is answered", async () => {
			const held = new Map<string, () => void>();
			const { port, guard, pace } = await guarded(2, {
				answer: ({ url = "" }, response) => void held.set(url, () => response.end(url)),
			}).then((before) => ({ ...before, pace: before.guard.pace }));
			pace.probed(BEHIND_MS);
			pace.use({ key: CALLER, weight: 0.2 }, 1_000);
			const socket = await connectFrom(port, CALLER);
			const answers = receives(socket, "/waits");
			socket.write(requests(1, "/health") + requests(1, "/waits"));
			await expect.poll(() => pace.waiting).toBe(1);
			await expect.poll(() => held.has("/health")).toBe(true);
			const first = receives(socket, "/health");
			held.get("/health")?.();
			await first;
			pace.end();
			await expect.poll(() => held.has("/waits")).toBe(true);
			const other = await connectFrom(port, "127.0.4.2");
			other.write(requests(1, "/other"));
			await expect.poll(() => held.has("/other")).toBe(true);
			expect(await ask(port, "/", "x")).toMatchObject({ status: 503 });
			held.get("/waits")?.();
			await answers;
			expect(guard.counts().connections.used).toBe(2);
			other.destroy();
		});

		it("keeps the place of a request that waits for longer than the runtime keeps its connection, and answers it", async () => {
			vi.useFakeTimers({ toFake: ["performance"] });
			cleanups.push(() => vi.useRealTimers());
			const { port, guard, runtime, accepted } = await guarded(2);
			const { pace } = guard;
			const socket = await connectFrom(port, CALLER);
			socket.write(requests(1));
			await receives(socket, "from the runtime");
			pace.probed(BEHIND_MS);
			pace.use({ key: CALLER, weight: 0.2 }, 1_000_000);
			socket.write(requests(1));
			await expect.poll(() => pace.waiting).toBe(1);
			vi.advanceTimersByTime(TIMES.runtimeIdleMs + 1);
			const count = promisify(runtime.getConnections.bind(runtime));
			await expect.poll(() => count()).toBe(0);
			expect(guard.counts()).toMatchObject({ connections: { used: 1 }, waiting: { used: 0 } });
			const answered = receives(socket, "from the runtime");
			pace.end();
			await answered;
			expect(accepted()).toBe(2);
			expect(guard.counts().connections.used).toBe(1);
			socket.destroy();
		});

		it("forgets a request whose caller leaves", async () => {
			const { port, pace, accepted } = await busy();
			const socket = await connectFrom(port, CALLER);
			socket.write(requests(1));
			await expect.poll(() => pace.waiting).toBe(1);
			socket.end();
			await expect.poll(() => pace.waiting).toBe(0);
			expect(accepted()).toBe(0);
		});

		it("answers 503 if the time of the caller does not come", async () => {
			const { port, pace } = await busy({ requestMs: 50 });
			// More than the pace gives in that time.
			pace.use({ key: CALLER, weight: 0.2 }, 1_000_000);
			const socket = await connectFrom(port, CALLER);
			socket.write(requests(1));
			const answer = await received(socket);
			expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 2\r\n/s);
			expect(pace.waiting).toBe(0);
		});

		it("reads a long answer and a long body in parts, and loses no byte", async () => {
			const body = "a".repeat(4_000_000);
			const { port, pace } = await busy({
				async answer(request, response) {
					let size = 0;
					for await (const piece of request) size += piece.length;
					response.end(`${size} ${body} end`);
				},
			});
			const socket = await connectFrom(port, CALLER);
			const text = receives(socket, " end");
			socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
			await expect.poll(() => pace.waiting).toBeGreaterThan(0);
			const end = setInterval(() => pace.end(), 5);
			cleanups.push(() => clearInterval(end));
			await text;
		});
	});

	it("closes the runtime's connection when the caller ends its side before the answer", async () => {
		const called = Promise.withResolvers<IncomingMessage>();
		const { port } = await guarded(1, { answer: (request) => called.resolve(request) });
		const caller = await connect(port);
		caller.write(GET);
		const { socket } = await called.promise;
		const closed = once(socket, "close");
		caller.end();
		await closed;
	});

	it("closes a connection that sends nothing", async () => {
		const { port, accepted } = await guarded(1, { firstByteMs: 50 });
		expect(await received(await connect(port))).toBe("");
		expect(accepted()).toBe(0);
	});

	it("closes a connection that is idle for longer than any answer takes", async () => {
		const { port } = await guarded(1, { idleMs: 50, answer: () => {} });
		const socket = await connect(port);
		socket.write(GET);
		expect(await received(socket)).toBe("");
		expect((await ask(port, "/", "x")).status).toBe(0);
	});

	it("closes a connection that sends no further request", async () => {
		const { port, guard } = await guarded(1, { keepAliveMs: 50 });
		const socket = await connect(port);
		socket.write(GET);
		expect(await received(socket)).toContain("from the runtime");
		expect(guard.counts().connections.used).toBe(0);
	});

	it.each([
		["the headers", "POST / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer invented\r\n"],
		["a small body", 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"prompt'],
		["the first bytes of a large body", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900000\r\n\r\nxxx"],
		["a chunked body", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n64\r\nxxx"],
	])("answers 408 if %s arrives too slowly, without a connection of the runtime", async (_, text) => {
		const { port, accepted } = await guarded(1, { requestMs: 50 });
		const socket = await connect(port);
		socket.write(text);
		const answer = await received(socket);
		expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
		expect(answer).toContain(
			'"errors":[{"code":3007,"message":"Request timeout: the request arrived too slowly"}]',
		);
		expect(accepted()).toBe(0);
	});

	it("serves while more callers than it waits for send slowly", async () => {
		const { port, guard } = await guarded(2, { requestMs: LONG_MS });
		const slow = await Promise.all(Array.from({ length: 20 }, () => connectFrom(port, "127.0.0.2")));
		for (const socket of slow) socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx");
		await expect.poll(() => guard.counts().waiting.refused).toBeGreaterThanOrEqual(16);
		expect(guard.counts().waiting).toMatchObject({ used: 4, limit: 4 });
		for (let i = 0; i < 5; i++) expect((await ask(port, "/", "x")).status).toBe(200);
		for (const socket of slow) socket.destroy();
	});

	it("gives the place of a connection between two requests to another caller, and serves its next request", async () => {
		const { port, guard, accepted } = await guarded(1);
		const first = await connect(port);
		for (const round of [1, 2, 3]) {
			first.write(GET);
			await receives(first, "from the runtime");
			expect((await ask(port, "/", "x")).status).toBe(200);
			await expect.poll(() => guard.counts().waiting.used).toBe(1);
			expect(accepted()).toBe(2 * round);
		}
		first.destroy();
	});

	it("answers each request of a connection whose place others take at the same time", async () => {
		let answered = 0;
		const { port } = await guarded(4, {
			answer: async (_, response) => {
				await sleep(answered++ % 3);
				response.end("from the runtime");
			},
		});
		const results: string[] = [];
		await Promise.all(
			Array.from({ length: 6 }, async (_, index) => {
				const agent = new Agent({ keepAlive: true, localAddress: `127.0.3.${index + 1}` });
				for (let number = 0; number < 100; number++) {
					results.push(await resultOf(port, agent));
					await sleep((index + number) % 3);
				}
				agent.destroy();
			}),
		);
		expect(results).toHaveLength(600);
		// A place is taken while all others have a request.
		expect(results.filter((result) => result !== "200" && result !== "503")).toEqual([]);
		expect(results.filter((result) => result === "200").length).toBeGreaterThan(300);
	});

	it("closes the runtime's connection before the runtime does, and keeps that of the caller", async () => {
		vi.useFakeTimers({ toFake: ["performance"] });
		cleanups.push(() => vi.useRealTimers());
		const { port, guard, accepted } = await guarded(1);
		const caller = await connect(port);
		for (const round of [1, 2]) {
			caller.write(GET);
			await receives(caller, "from the runtime");
			vi.advanceTimersByTime(TIMES.runtimeIdleMs + 1);
			await expect.poll(() => guard.counts().connections.used).toBe(0);
			expect(guard.counts().waiting.used).toBe(1);
			expect(accepted()).toBe(round);
		}
		caller.destroy();
	});

	it("serves a caller whose runtime has closed an idle connection, and loses no request that the caller has begun", async () => {
		const { port, guard, runtime, accepted } = await guarded(1);
		const caller = await connect(port);
		for (const [first, second] of [
			[GET, ""],
			[GET.slice(0, 10), GET.slice(10)],
		] as const) {
			caller.write(GET);
			await receives(caller, "from the runtime");
			const before = accepted();
			if (second) caller.write(first);
			runtime.closeIdleConnections();
			await expect.poll(() => guard.counts().connections.used).toBe(0);
			expect(guard.counts().waiting.used).toBe(1);
			caller.write(second || first);
			await receives(caller, "from the runtime");
			expect(accepted()).toBe(before + 1);
		}
		caller.destroy();
	});

	it.each([
		["a request of HTTP/1.0", "GET / HTTP/1.0\r\nhost: x\r\n\r\n", ""],
		["a request that says so", "GET / HTTP/1.1\r\nhost: x\r\nconnection: keep-alive, Close\r\n\r\n", ""],
		["an answer that says so", GET, "connection: close\r\n"],
	])("closes the connection after %s, also before the runtime does", async (_, text, header) => {
		const { port, guard } = await guarded(1, {
			answer: ({ socket }) =>
				void socket.write(`HTTP/1.1 200 OK\r\n${header}content-length: 8\r\n\r\nanswered`),
		});
		const caller = await connect(port);
		caller.write(text);
		expect(await received(caller)).toMatch(/answered$/);
		await expect.poll(() => guard.counts().connections.used).toBe(0);
	});

	it("closes the connection with the runtime's one, after bytes that are no answer", async () => {
		const { port } = await guarded(1, {
			answer: ({ socket }) =>
				void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nanswered\0\r\n\r\n"),
		});
		const caller = await connect(port);
		caller.write(GET);
		expect(await received(caller)).toContain("answered");
	});

	it("reserves places for health checks and the operator", async () => {
		const { port, guard } = await guarded(48, {
			answer: (request, response) => {
				const { url = "", headers } = request;
				if (url === "/health" || headers.authorization?.endsWith(OPERATOR_TOKEN)) response.end("answered");
			},
		});
		const held = await Promise.all(
			Array.from({ length: 46 }, (_, i) => connectFrom(port, `127.0.0.${10 + i}`)),
		);
		for (const socket of held) socket.write(GET);
		await expect.poll(() => guard.counts().connections.used).toBe(46);
		expect((await ask(port, "/", "x")).status).toBe(503);
		expect((await ask(port, "/metrics", "an-invented-token")).status).toBe(503);
		for (let i = 0; i < 5; i++) {
			expect(await ask(port, "/health", "x")).toEqual({ status: 200, body: "answered" });
			expect((await ask(port, "/metrics", OPERATOR_TOKEN)).status).toBe(200);
		}
		await expect.poll(() => guard.counts().connections).toEqual({ used: 46, limit: 48, refused: 2 });
		for (const socket of held) socket.destroy();
	});

	it("answers all requests of the operator that arrive together, also on a reserved place", async () => {
		const { port, guard } = await guarded(24, {
			answer: async ({ url }, response) => {
				if (url === "/second") await sleep(30);
				if (url !== "/") response.end(`answered ${url}`);
			},
		});
		const held = await Promise.all(
			Array.from({ length: 23 }, (_, i) => connectFrom(port, `127.0.0.${10 + i}`)),
		);
		for (const socket of held) socket.write(GET);
		await expect.poll(() => guard.counts().connections.used).toBe(23);
		const operator = await connect(port);
		const text = received(operator);
		for (const path of ["/first", "/second"])
			operator.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n\r\n`);
		expect((await text).match(/answered \/(?:first|second)/g)).toEqual([
			"answered /first",
			"answered /second",
		]);
		for (const socket of held) socket.destroy();
	});

	it("sends no 100 Continue within the answer before it", async () => {
		const begun = Promise.withResolvers<() => void>();
		const { port } = await guarded(1, {
			answer: (request, response) => {
				request.resume();
				if (request.method === "POST") return response.end("second");
				response.write("begin");
				begun.resolve(() => response.end("end"));
			},
		});
		const caller = await connect(port);
		let text = "";
		caller.on("data", (bytes) => (text += bytes));
		caller.write(GET);
		const end = await begun.promise;
		await expect.poll(() => text).toContain("begin");
		caller.write("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n");
		caller.write("abc");
		end();
		await expect.poll(() => text).toContain("second");
		expect(text).toContain("\r\n\r\n5\r\nbegin\r\n3\r\nend\r\n0\r\n\r\n");
		caller.destroy();
	});

	it("leaves places for other addresses", async () => {
		const { port, guard } = await guarded(46, { answer: () => {} });
		const busy = await Promise.all(Array.from({ length: 45 }, () => connectFrom(port, "127.0.0.2")));
		const refused = busy.map((socket) => received(socket));
		for (const socket of busy) socket.write(GET);
		expect(await Promise.race(refused)).toMatch(/^HTTP\/1\.1 503 /);
		expect(guard.counts().connections.used).toBe(41);
		const other = await connect(port);
		other.write(GET);
		await expect.poll(() => guard.counts().connections.used).toBe(42);
		for (const socket of [...busy, other]) socket.destroy();
	});

	it("answers every other address while many addresses take as many places as they can", async () => {
		const { port, guard } = await guarded(48, {
			answer: (request, response) => {
				if (request.url === "/quick") response.end("answered");
			},
		});
		const addresses = Array.from({ length: 16 }, (_, i) => `127.0.1.${i + 1}`);
		const busy: Socket[] = [];
		// Of 46 places, 42 are lent: 2 to each address, and 10 more.
		for (const used of [16, 32, 42]) {
			for (const address of addresses) {
				const socket = await connectFrom(port, address);
				socket.write(GET);
				busy.push(socket);
			}
			await expect.poll(() => guard.counts().connections.used).toBe(used);
		}
		await expect.poll(() => guard.counts().connections.refused).toBe(6);
		for (let i = 0; i < 8; i++) {
			const other = await connectFrom(port, `127.0.2.${i + 1}`);
			const text = received(other);
			other.write("GET /quick HTTP/1.1\r\nhost: x\r\n\r\n");
			other.once("data", () => other.end());
			expect(await text).toContain("answered");
		}
		for (const socket of busy) socket.destroy();
	});

	it("keeps the place of a verified caller's idle connection before that of a stranger's", async () => {
		const { port, accepted } = await guarded(2);
		const verified = await connectFrom(port, "127.0.0.2");
		verified.write(`GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n\r\n`);
		await receives(verified, "from the runtime");
		const stranger = await connectFrom(port, "127.0.0.3");
		stranger.write("GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer invented\r\n\r\n");
		await receives(stranger, "from the runtime");
		expect((await ask(port, "/", "x")).status).toBe(200);
		expect(accepted()).toBe(3);
		verified.write(GET);
		await receives(verified, "from the runtime");
		expect(accepted()).toBe(3);
		for (const socket of [verified, stranger]) socket.destroy();
	});

	it("passes websockets on, up to a half of the connections", async () => {
		const { port, guard } = await guarded(4);
		const handshake = "GET /socket HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
		const open = await Promise.all([connect(port), connect(port)]);
		for (const socket of open) {
			socket.write(handshake);
			await receives(socket, "HTTP/1.1 101 ");
			socket.write(binaryFrame(Buffer.from("any bytes")));
			await receives(socket, "any bytes");
		}
		const third = await connect(port);
		third.write(handshake);
		expect(await received(third)).toMatch(/^HTTP\/1\.1 503 /);
		expect(guard.counts().sockets).toEqual({ used: 2, limit: 2, refused: 1 });
		expect((await ask(port, "/", "x")).status).toBe(200);
		for (const socket of open) socket.destroy();
		await expect.poll(() => guard.counts()).toMatchObject({ sockets: { used: 0 }, connections: { used: 0 } });
	});

	it("counts a connection as a websocket only until its request is refused", async () => {
		const { port, guard } = await guarded(4);
		const refused = await Promise.all([1, 2, 3].map(() => connect(port)));
		for (const socket of refused) {
			socket.write("GET /refused HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n");
			await receives(socket, "refused");
		}
		expect(guard.counts().sockets).toEqual({ used: 0, limit: 2, refused: 0 });
		const open = await webSocketOf(port);
		expect(guard.counts().sockets.used).toBe(1);
		open.destroy();
		for (const socket of refused) socket.destroy();
	});

	describe("what a caller sends after an upgrade request, before its answer", () => {
		const UPGRADE = "HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
		const SMUGGLED = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";

		it.each([
			["together with it", (frame: Buffer) => [Buffer.concat([Buffer.from(`GET /slow ${UPGRADE}`), frame])]],
			["in pieces", (frame: Buffer) => [`GET /slow ${UPGRADE}`, frame.subarray(0, 3), frame.subarray(3)]],
		])("is frames if the upgrade is accepted: %s", async (_, pieces) => {
			const { port, upgraded } = await guarded(4);
			const socket = await connect(port);
			const frame = binaryFrame(Buffer.from(SMUGGLED));
			const echoed = receives(socket, "/smuggled");
			for (const piece of pieces(frame)) {
				socket.write(piece);
				await sleep(5);
			}
			await echoed;
			expect(Buffer.concat(upgraded.bytes)).toEqual(frame);
			socket.destroy();
		});

		it("is no frame that the runtime cannot read", async () => {
			const { port, upgraded } = await guarded(4);
			const socket = await connect(port);
			socket.write(`GET /slow ${UPGRADE}${SMUGGLED}`);
			const answer = await received(socket);
			expect(answer).toMatch(/^HTTP\/1\.1 101 /);
			expect(answer).not.toContain("smuggled");
			expect(Buffer.concat(upgraded.bytes)).toHaveLength(0);
		});

		it.each(["websocket", "h2c"])(
			"is not read, and ends the connection, if %s is refused",
			async (protocol) => {
				const { port, accepted } = await guarded(4);
				const before = accepted();
				const socket = await connect(port);
				socket.write(`GET /refused ${UPGRADE.replace("websocket", protocol)}${SMUGGLED}`);
				const answer = await received(socket);
				expect(answer).toMatch(/^HTTP\/1\.1 401 /);
				expect(answer).not.toContain("smuggled");
				expect(accepted()).toBe(before + 1);
			},
		);

		it.each([
			[
				"together with it",
				(bytes: Buffer) => [Buffer.concat([Buffer.from(`GET /silent ${UPGRADE}`), bytes])],
			],
			[
				"in pieces",
				(bytes: Buffer) => [`GET /silent ${UPGRADE}`, bytes.subarray(0, 9_000), bytes.subarray(9_000)],
			],
		])("closes the connection if it is more than 16 KB: %s", async (_, pieces) => {
			const { port, upgraded } = await guarded(4);
			const socket = await connect(port);
			const closed = once(
				socket.on("error", () => {}),
				"close",
			);
			for (const piece of pieces(binaryFrame(Buffer.alloc(17 * 1024, "x")))) {
				socket.write(piece);
				await sleep(5);
			}
			await closed;
			expect(Buffer.concat(upgraded.bytes)).toHaveLength(0);
		});

		it("is dropped after the answer of a guard that has no place", async () => {
			const { port } = await guarded(1, { answer: () => {} });
			const holder = await connect(port);
			holder.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
			const socket = await connect(port);
			socket.write(Buffer.concat([Buffer.from(`GET /silent ${UPGRADE}`), Buffer.alloc(100 * 1024)]));
			expect(await received(socket)).toMatch(/^HTTP\/1\.1 503 /);
			holder.destroy();
		});
	});

	async function webSocketOf(port: number): Promise<Socket> {
		const socket = await connect(port);
		const upgraded = receives(socket, "101 Switching Protocols");
		socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
		await upgraded;
		return socket;
	}

	it.each([
		["whose message has too many parts", [0x01, 0x80, 0, 0, 0, 0], 1_009],
		["whose frame breaks the protocol", [0x83, 0x80, 0, 0, 0, 0], 1_002],
	])("closes a websocket %s, with a close frame", async (_, first, code) => {
		const { port } = await guarded(4);
		const socket = await webSocketOf(port);
		const chunks: Buffer[] = [];
		socket.on("data", (bytes) => chunks.push(bytes));
		const closed = once(socket, "close");
		socket.write(Buffer.from(first));
		const part = Buffer.from([0x00, 0x80, 0, 0, 0, 0]);
		for (let sent = 0; sent < 4_100 && socket.writable; sent++) socket.write(part);
		await closed;
		const last = Buffer.concat(chunks);
		const at = last.indexOf(0x88);
		expect(last.readUInt16BE(at + 2)).toBe(code);
	});

	/** A frame with an unknown opcode. */
	const MALFORMED = Buffer.from([0x83, 0x80, 0, 0, 0, 0]);

	it("passes the frames before one that breaks the protocol, also if they arrive together", async () => {
		const { port, upgraded } = await guarded(4);
		const socket = await webSocketOf(port);
		const closed = once(socket, "close");
		const before = Buffer.concat([binaryFrame(Buffer.from("a")), binaryFrame(Buffer.alloc(40_000))]);
		socket.resume().write(Buffer.concat([before, MALFORMED]));
		await closed;
		await expect.poll(() => Buffer.concat(upgraded.bytes).equals(before)).toBe(true);
	});

	it("sends its close frame after the frame of an answer that is under way, and nothing after it", async () => {
		const { port, upgraded } = await guarded(4);
		const socket = await webSocketOf(port);
		const chunks: Buffer[] = [];
		socket.on("data", (bytes) => chunks.push(bytes));
		const received = (): Buffer => Buffer.concat(chunks);
		const closed = once(socket, "close");
		const answer = binaryFrame(Buffer.alloc(100_000, "x"));
		const [runtime] = upgraded.sockets;
		runtime?.write(Buffer.concat([binaryFrame(Buffer.from("first")), answer.subarray(0, 50_000)]));
		await expect.poll(() => received().length).toBeGreaterThan(50_000);
		// The server echoes it within its frame, when the guard has read the next one.
		const before = binaryFrame(Buffer.from("before"));
		socket.write(Buffer.concat([before, MALFORMED, binaryFrame(Buffer.from("later"))]));
		await expect.poll(() => received().includes(before)).toBe(true);
		expect(received().includes(Buffer.from([0x88]))).toBe(false);
		const end = answer.subarray(50_000, -before.length);
		runtime?.write(Buffer.concat([end, binaryFrame(Buffer.from("next"))]));
		await closed;
		const first = binaryFrame(Buffer.from("first"));
		const passed = Buffer.concat([first, answer.subarray(0, 50_000), before, end]);
		expect(received().subarray(0, passed.length)).toEqual(passed);
		const last = received().subarray(first.length + answer.length);
		expect([last[0], last[1], last.readUInt16BE(2)]).toEqual([0x88, last.length - 2, 1_002]);
	});

	it("sends its close frame after the frame of an answer that has begun together with the head", async () => {
		const { port, upgraded } = await guarded(4);
		const socket = await connect(port);
		const chunks: Buffer[] = [];
		socket.on("data", (bytes) => chunks.push(bytes));
		const received = (): Buffer => Buffer.concat(chunks);
		const closed = once(socket, "close");
		socket.write("GET /begun HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
		await expect.poll(() => received().includes("begu")).toBe(true);
		const before = binaryFrame(Buffer.from("before"));
		socket.write(Buffer.concat([before, MALFORMED]));
		await expect.poll(() => upgraded.bytes.length).toBe(1);
		upgraded.sockets[0]?.write("n");
		await closed;
		const last = received().subarray(received().indexOf("begun") + 5);
		expect([last[0], last[1], last.readUInt16BE(2)]).toEqual([0x88, last.length - 2, 1_002]);
	});

	it("closes a websocket that is refused and whose caller does not read, without its close frame", async () => {
		const { port, guard, upgraded } = await guarded(4, { unreadMs: 3_000 });
		const socket = await webSocketOf(port);
		socket.pause();
		// More than the kernel buffers, which the server echoes.
		for (let sent = 0; sent < 16; sent++) socket.write(binaryFrame(Buffer.alloc(1024 * 1024)));
		const unsent = (): number => upgraded.sockets[0]?.writableLength ?? 0;
		for (let before = -1; before <= 0 || before !== unsent(); ) {
			before = unsent();
			await sleep(100);
		}
		socket.write(MALFORMED);
		await expect.poll(() => guard.counts().sockets.used, { timeout: 10_000 }).toBe(0);
		await expect.poll(() => upgraded.sockets[0]?.destroyed, { timeout: 2_000 }).toBe(true);
		const chunks: Buffer[] = [];
		socket.on("data", (bytes) => chunks.push(bytes)).resume();
		await once(socket, "close");
		// The code of the close frame, 1002.
		expect(Buffer.concat(chunks).includes(Buffer.from([0x03, 0xea]))).toBe(false);
	}, 30_000);

	it("passes the frames of a flood at a limited rate, and loses none of their bytes", async () => {
		const { port } = await guarded(4);
		const socket = await webSocketOf(port);
		const frame = binaryFrame(Buffer.from("ab"));
		const sent = Buffer.concat(Array(1_500).fill(frame));
		const chunks: Buffer[] = [];
		let size = 0;
		socket.on("data", (bytes: Buffer) => {
			chunks.push(bytes);
			size += bytes.length;
		});
		const started = performance.now();
		socket.write(sent);
		await expect.poll(() => size, { timeout: 20_000 }).toBe(sent.length);
		expect(performance.now() - started).toBeGreaterThan(400);
		expect(Buffer.concat(chunks).equals(sent)).toBe(true);
		socket.destroy();
	});

	it("closes a websocket whose caller does not read, and keeps one whose caller reads", async () => {
		const { port, guard } = await guarded(4, { unreadMs: 200 });
		const handshake = "GET /socket HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
		const [reader, idler] = await Promise.all([connect(port), connect(port)]);
		for (const socket of [reader, idler]) {
			socket.write(handshake);
			await receives(socket, "HTTP/1.1 101 ");
		}
		let read = 0;
		reader.on("data", (bytes) => {
			read += bytes.length;
		});
		idler.pause();
		// More than the kernel and the runtime buffer, which the server echoes.
		const piece = binaryFrame(Buffer.alloc(1024 * 1024, "x"));
		for (let sent = 0; sent < 32; sent++) {
			idler.write(piece);
			reader.write(piece);
		}
		await expect.poll(() => guard.counts().sockets?.used, { timeout: 20_000 }).toBe(1);
		reader.write(piece);
		await expect.poll(() => read, { timeout: 20_000 }).toBe(33 * piece.length);
	});

	it.each([
		["a header without a colon", "GET / HTTP/1.1\r\nhost x\r\n\r\n"],
		[
			"a second request after a LF alone",
			"GET / HTTP/1.1\r\nhost: x\r\nx: y\n\nGET /other HTTP/1.1\r\nhost: x\r\n\r\n",
		],
		["a length after a LF alone", "POST / HTTP/1.1\r\nhost: x\r\nx: y\ncontent-length: 5\r\n\r\nhello"],
		["a length after a CR alone", "POST / HTTP/1.1\r\nhost: x\r\nx: y\rcontent-length: 5\r\n\r\nhello"],
		["a space before the colon", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length : 5\r\n\r\nhello"],
		["CONNECT", "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n"],
		["another protocol", "hello\r\n\r\n"],
		["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\nx"],
		[
			"a length and chunks",
			"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\nx",
		],
		["another transfer encoding", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\nx"],
		["a negative length", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\nx"],
		["a chunk without a size", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"],
		[
			"a chunk that is too long",
			"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxx\r\n",
		],
		[
			"headers of 70 KB",
			`GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(70_000)}\r\n\r\n`,
			"431 Request Header Fields Too Large",
		],
	])("refuses %s", async (_, text, status = "400 Bad Request") => {
		const { port, accepted } = await guarded(1);
		const socket = await connect(port);
		const answer = received(socket);
		socket.write(text);
		expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\\r\\n`));
		expect(accepted()).toBe(0);
	});
});

const placedAt = (places: Places, address: string, answers = true) => {
	const connection = {
		...{ address, unreadSince: undefined, isKnown: false, refused: 0 },
		close: () => places.release(connection),
		leaveRuntime: () => places.waitAgain(connection),
		refuse() {
			connection.refused++;
			if (answers) places.end(connection);
			else connection.close();
			return answers;
		},
	};
	return connection;
};

it("the oldest connection that waits takes a place while as many wait as may, and another one gives its place back", () => {
	const places = new Places(1, () => 0);
	const idle = placedAt(places, "idle");
	places.take(idle, false);
	places.idle(idle);
	const [oldest, second] = [placedAt(places, "same"), placedAt(places, "same")];
	places.wait(oldest);
	places.wait(second);
	expect(places.counts().waiting.used).toBe(places.maxWaiting);
	expect(places.take(oldest, false)).toBe(true);
	expect([oldest, second, idle].map(({ refused }) => refused)).toEqual([0, 0, 0]);
	expect(places.counts()).toMatchObject({ connections: { used: 1 }, waiting: { used: 2, refused: 0 } });
});

it("a waiting connection counts as refused only if its caller gets an answer", () => {
	const places = new Places(1, () => 0);
	for (const answers of [false, true, true]) places.wait(placedAt(places, "same", answers));
	expect(places.counts().waiting).toEqual({ used: 2, limit: 2, refused: 0 });
	places.wait(placedAt(places, "same"));
	expect(places.counts().waiting).toEqual({ used: 2, limit: 2, refused: 1 });
});

it("of too many callers who read their last bytes, those of the address with the most ones are closed", () => {
	const places = new Places(3, () => 0);
	const closed: string[] = [];
	const ending = (address: string, name: string): Placed => {
		const connection: Placed = {
			...{ address, unreadSince: undefined, isKnown: false, refuse: () => false, leaveRuntime: () => {} },
			close() {
				closed.push(name);
				places.release(connection);
			},
		};
		places.end(connection);
		places.end(connection);
		return connection;
	};
	ending("reader", "the oldest");
	const left = ending("many", "left");
	ending("many", "first");
	expect(closed).toEqual([]);
	ending("many", "second");
	expect(closed).toEqual(["left"]);
	ending("many", "third");
	expect(closed).toEqual(["left", "first"]);
	places.release(left);
	ending("other", "another");
	expect(closed).toEqual(["left", "first", "second"]);
});

it("the times are those of docs/security.md", () => {
	const page = readFileSync("docs/security.md", "utf8");
	const seconds = (milliseconds: number): string => `${milliseconds / 1_000} seconds`;
	const cell = (what: string): string =>
		page
			.split("\n")
			.find((line) => line.startsWith(`| ${what} `))
			?.split("|")[2]
			?.trim() ?? "";
	expect(cell("first byte of a connection")).toBe(`${seconds(TIMES.firstByteMs)}, then it is closed`);
	expect(cell("headers, and a body or its first 16 KB")).toContain(
		`${seconds(TIMES.requestMs)} from the first byte`,
	);
	expect(page).toContain(`does not read for ${seconds(TIMES.unreadMs)} is closed`);
	expect(cell("time between two requests")).toBe(
		`${seconds(TIMES.keepAliveMs)}, and less when too many connections wait. After ${seconds(TIMES.runtimeIdleMs)} it uses no connection of the runtime`,
	);
});

it("a collection of garbage is due once, in the first interval without load", () => {
	const time = new IdleTime();
	const due = (requests: number, underWay = 0): boolean => time.isCollectionDue({ requests, underWay });
	expect(due(0)).toBe(false);
	expect(due(1_000)).toBe(false);
	expect(due(1_005, 1)).toBe(false);
	expect(due(1_010)).toBe(true);
	// Again within a minute, and not for the health checks of some minutes.
	const again = Array.from({ length: 18 }, (_, interval) => due(1_020 + 10 * interval) && interval + 1);
	expect(again.filter(Boolean)).toEqual([2, 4, 8, 12]);
	expect(due(2_000)).toBe(false);
	expect(due(2_000)).toBe(true);
	expect([due(2_000), due(2_000, 1), due(2_000)]).toEqual([false, false, true]);
});
