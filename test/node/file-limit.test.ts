/** `npm run serve` with 1,024 open files: what would open more is refused, and what is under way comes to its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { Agent, createServer, type Server as HttpServer, request } from "node:http";
import { type AddressInfo, createConnection, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../bench/contenders.ts";
import { guardConnections } from "../../scripts/connection-guard.ts";
import { reachableFileLimit, withFileLimit } from "../../scripts/file-limit.ts";
import { capacityOf } from "../../src/config/capacity.ts";

const ADMIN_TOKEN = "an-admin-token-of-the-file-limit-test";
const chunk = (content: string, finish: string | null): string => {
	const choices = [{ index: 0, delta: { content }, finish_reason: finish }];
	return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 70_000);

/** An engine whose streams end when the test says so. */
async function startEngine(): Promise<{ url: string; endAll(): void; streams(): number }> {
	const open = new Set<() => void>();
	const engine: HttpServer = createServer((asked, answer) => {
		asked.resume();
		answer.writeHead(200, { "content-type": "text/event-stream" });
		answer.write(chunk("a", null));
		open.add(() => answer.end(`${chunk("b", "stop")}data: [DONE]\n\n`));
	}).listen(0, "127.0.0.1");
	await once(engine, "listening");
	cleanups.push(() => {
		engine.closeAllConnections();
		engine.close();
	});
	const { port } = engine.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}/v1`,
		streams: () => open.size,
		endAll: () => {
			for (const end of open) end();
		},
	};
}

async function startGateway(engineUrl: string) {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-files-"));
	const port = await freePort();
	const command = [
		process.execPath,
		"scripts/serve.ts",
		"--port",
		String(port),
		"--state",
		join(folder, "state"),
	];
	const child = spawn("/bin/sh", ["-c", 'ulimit -n 1024; exec "$0" "$@"', ...command], {
		stdio: ["ignore", "pipe", "inherit"],
		env: {
			...process.env,
			GANGLION_KEEP_FILE_LIMIT: "1",
			ADMIN_TOKEN,
			BACKENDS: JSON.stringify({ engine: { kind: "openai", url: engineUrl } }),
			ROUTES: JSON.stringify({ "*": [{ backend: "engine", model: "m" }] }),
			LIMITS: JSON.stringify({ requests_per_minute: "none" }),
		},
	});
	const state = { exited: false };
	const exit = once(child, "exit").then(() => {
		state.exited = true;
	});
	cleanups.push(async () => {
		child.kill("SIGTERM");
		await exit;
		rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	});
	let output = "";
	for await (const text of child.stdout) {
		output += text;
		if (/Accounts and bills are in[\s\S]*LimitNOFILE/.test(output)) break;
	}
	return { port, state, output, objects: join(folder, "state", "objects") };
}

interface Answer {
	status: number;
	body: string;
}

/** Resolves to 0 where the connection broke. */
function ask(
	port: number,
	path: string,
	token: string,
	body?: unknown,
): Promise<Answer> & { begun: Promise<number> } {
	const begun = Promise.withResolvers<number>();
	const ended = new Promise<Answer>((resolve) => {
		const failed = (): void => {
			begun.resolve(0);
			resolve({ status: 0, body: "" });
		};
		const asked = request(
			{
				host: "127.0.0.1",
				port,
				path,
				agent: new Agent(),
				method: body === undefined ? "GET" : "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			},
			(answer) => {
				const { statusCode: status = 0 } = answer;
				begun.resolve(status);
				let text = "";
				answer.on("data", (bytes) => (text += bytes)).on("end", () => resolve({ status, body: text }));
				answer.on("error", failed);
			},
		);
		asked.on("error", failed);
		asked.end(body === undefined ? undefined : JSON.stringify(body));
	});
	return Object.assign(ended, { begun: begun.promise });
}

const CHAT = {
	model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	stream: true,
	messages: [{ role: "user", content: "hi" }],
};
const chat = (port: number) =>
	ask(port, "/client/v4/accounts/acme/ai/v1/chat/completions", ADMIN_TOKEN, CHAT);
const search = (port: number) => ask(port, "/client/v4/accounts/acme/ai/models/search", ADMIN_TOKEN);

describe.skipIf(process.platform === "win32")("1,024 open files", () => {
	it("survive 400 streams, 1,000 invented accounts and 2,000 idle connections", async () => {
		const engine = await startEngine();
		const { port, state, output, objects } = await startGateway(engine.url);
		expect(output).toContain("Open files are limited to 1024: at most 144 connections at once");

		const guesses = Array.from(
			{ length: 1_000 },
			(_, i) => () =>
				ask(port, `/client/v4/accounts/guess${i}/ai/models/search`, `glt_guess${i}_${"a".repeat(43)}`),
		);
		const refused: number[] = [];
		for (let i = 0; i < guesses.length; i += 20)
			refused.push(
				...(await Promise.all(guesses.slice(i, i + 20).map((guess) => guess()))).map(({ status }) => status),
			);
		expect(new Set(refused)).toEqual(new Set([401]));

		const streams = Array.from({ length: 400 }, () => chat(port));
		const begun = await Promise.all(streams.map(({ begun }) => begun));
		const passed = begun.filter((status) => status === 200).length;
		expect(passed).toBeGreaterThanOrEqual(100);
		expect(engine.streams()).toBe(passed);
		expect(new Set(begun.filter((status) => status !== 429))).toEqual(new Set([200, 503]));

		const idle = await Promise.all(Array.from({ length: 2_000 }, () => connect(port)));
		cleanups.push(() => {
			for (const socket of idle) socket.destroy();
		});
		expect(state.exited).toBe(false);

		engine.endAll();
		const answers = await Promise.all(streams);
		const finished = answers.filter(({ body }) => body.endsWith("data: [DONE]\n\n"));
		expect(finished).toHaveLength(passed);
		for (const { status, body } of answers.filter(({ status }) => status !== 200)) {
			expect([429, 503]).toContain(status);
			expect(JSON.parse(body).errors[0].code).toBe(3040);
		}

		for (const socket of idle) socket.destroy();
		// The guard accepts new connections as soon as it has seen the others close.
		await expect.poll(async () => (await search(port)).status, { timeout: 20_000 }).toBe(200);
		expect(state.exited).toBe(false);
		const files = readdirSync(join(objects, "Account")).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
		expect(files).toHaveLength(1);
	}, 120_000);
});

/** A connection that sends nothing. The system may refuse it. */
const connect = (port: number): Promise<Socket> =>
	new Promise((resolve) => {
		const socket = createConnection({ port, host: "127.0.0.1" });
		socket.on("error", () => resolve(socket));
		socket.once("connect", () => resolve(socket));
	});

describe.skipIf(process.platform === "win32")("the guard of connections", () => {
	async function guarded(
		maxConnections: number,
	): Promise<{ port: number; guard: Server; accepted: () => number }> {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-guard-"));
		const target = join(folder, "http.sock");
		let accepted = 0;
		const runtime = createServer((_, answer) => answer.end("from the runtime"));
		runtime.on("connection", () => accepted++);
		runtime.listen(target);
		await once(runtime, "listening");
		const port = await freePort();
		const guard = await guardConnections({
			host: "127.0.0.1",
			port,
			target,
			maxConnections,
			firstByteMs: 50,
		});
		cleanups.push(() => {
			guard.close();
			runtime.closeAllConnections();
			runtime.close();
			rmSync(folder, { recursive: true, force: true });
		});
		return { port, guard, accepted: () => accepted };
	}

	it("passes requests and answers on", async () => {
		const { port } = await guarded(1);
		expect(await ask(port, "/", "x")).toEqual({ status: 200, body: "from the runtime" });
	});

	it("answers 503 beyond the maximum, and closes", async () => {
		const { port, accepted } = await guarded(2);
		const sockets = await Promise.all([connect(port), connect(port)]);
		const { status, body } = await ask(port, "/", "x");
		expect(status).toBe(503);
		expect(JSON.parse(body)).toEqual({
			result: null,
			success: false,
			errors: [{ code: 3040, message: "Capacity temporarily exceeded, please try again." }],
			messages: [],
		});
		expect(accepted()).toBe(0);
		for (const socket of sockets) socket.destroy();
	});

	it("closes a connection that sends nothing, and its place is free again", async () => {
		const { port } = await guarded(1);
		const silent = await connect(port);
		silent.resume();
		await once(silent, "close");
		expect((await ask(port, "/", "x")).status).toBe(200);
	});
});

describe.skipIf(process.platform === "win32")("the limit of a process", () => {
	it("is the one that is set, where it is not to be raised", () => {
		const { files } = reachableFileLimit({ ...process.env, GANGLION_KEEP_FILE_LIMIT: "1" });
		expect(files).toBeGreaterThan(0);
		const [program = "", ...args] = withFileLimit(512, ["/bin/sh", "-c", "ulimit -n"]);
		const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
		return expect(new Response(child.stdout as never).text()).resolves.toBe("512\n");
	});
});

it("shares the files between requests and accounts, with a reserve", () => {
	expect(capacityOf(1_024)).toEqual({ requests: 123, accounts: 96, connections: 144 });
	expect(capacityOf(64)).toEqual({ requests: 1, accounts: 1, connections: 1 });
	expect(capacityOf(undefined).requests).toBe(Number.POSITIVE_INFINITY);
});
