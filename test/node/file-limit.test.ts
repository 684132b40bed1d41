/** The limit of open files of `ganglion serve`: what would exceed it is refused, and what is under way comes to its end. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fileLimitRefusal, reachFileLimit, withFileLimit } from "../../scripts/file-limit.ts";
import { freePort } from "../../scripts/free-port.ts";
import { capacityOf } from "../../src/config/capacity.ts";
import { CLI } from "./cli/run.ts";
import { ask, connect } from "./connections.ts";

const ADMIN_TOKEN = "an-admin-token-of-the-file-limit-test";
const chunk = (content: string, finish: string | null): string => {
	const choices = [{ index: 0, delta: { content }, finish_reason: finish }];
	return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
	// Together: a gateway that stops waits for the streams of its engine.
	await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

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

/** The setting and the limit of the shell are the same number: root could raise the limit beyond the shell's. */
async function startGateway(engineUrl: string, files: number, settings: Record<string, string> = {}) {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-files-"));
	const port = await freePort();
	const command = [process.execPath, CLI, "serve", "--port", String(port), "--state", join(folder, "state")];
	const child = spawn("/bin/sh", ["-c", `ulimit -n ${files}; exec "$0" "$@"`, ...command], {
		stdio: ["ignore", "pipe", "inherit"],
		env: {
			...process.env,
			OPEN_FILES: String(files),
			ADMIN_TOKEN,
			BACKENDS: JSON.stringify({ engine: { kind: "openai", url: engineUrl } }),
			ROUTES: JSON.stringify({ "*": [{ backend: "engine", model: "m" }] }),
			LIMITS: JSON.stringify({ requests_per_minute: "none" }),
			...settings,
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
		if (/Open files[\s\S]*503/.test(output)) break;
	}
	return { port, state, output, objects: join(folder, "state", "objects") };
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
		const { port, state, output, objects } = await startGateway(engine.url, 1_024);
		expect(output).toContain("Open files are limited to 1024: at most 144 connections at the same time");

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
		await expect.poll(async () => (await search(port)).status).toBe(200);
		expect(state.exited).toBe(false);
		const files = readdirSync(join(objects, "Account")).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
		expect(files).toHaveLength(1);
	});

	it("survive 100 gateways of each of 8 accounts, and accounts with many streams that can be resumed", async () => {
		const engine = await startEngine();
		const any = { AI_GATEWAY: JSON.stringify({ any_gateway: true }) };
		const { port, state } = await startGateway(engine.url, 1_024, any);
		const run = (account: string, gateway: string, headers = {}, stream = false) =>
			ask(
				port,
				`/client/v4/accounts/${account}/ai/run/${CHAT.model}`,
				ADMIN_TOKEN,
				{ messages: CHAT.messages, stream },
				{ "cf-aig-gateway-id": gateway, ...headers },
			);
		// No account with one gateway is refused while others try to open all objects.
		const statuses = new Map<string, number[]>();
		const ends = setInterval(engine.endAll, 20);
		for (let number = 0; number < 100; number++) {
			const accounts = [...Array.from({ length: 8 }, (_, i) => `busy${i}`), "calm"];
			const answers = accounts.map(async (account) => {
				const { status } = await run(account, account === "calm" ? "main" : `gateway${number}`);
				statuses.set(account, [...(statuses.get(account) ?? []), status]);
			});
			await Promise.all(answers);
			expect(state.exited).toBe(false);
		}
		clearInterval(ends);
		expect(new Set(statuses.get("calm"))).toEqual(new Set([200]));
		expect(new Set([...statuses.values()].flat())).toEqual(new Set([200, 429]));
		const refused = await run("busy0", "gateway-of-the-refusal");
		expect(JSON.parse(refused.body).errors).toMatchObject([{ code: 3040 }]);

		const resumable = { "cf-aig-resumable": "true" };
		const streams = Array.from({ length: 140 }, (_, i) => run(`streaming${i % 2}`, "main", resumable, true));
		const begun = await Promise.all(streams.map((stream) => stream.begun));
		expect(begun.filter((status) => status === 200).length).toBeGreaterThan(50);
		expect(state.exited).toBe(false);
		engine.endAll();
		await Promise.all(streams);
		await expect.poll(async () => (await search(port)).status).toBe(200);
		expect(state.exited).toBe(false);
	});
});

describe.skipIf(process.platform === "win32")("reports about 100 accounts", () => {
	it("open and create no object of an account that does not use it, so that requests find theirs", async () => {
		const { port, objects } = await startGateway("http://127.0.0.1:9", 1_024);
		const accounts = Array.from({ length: 100 }, (_, i) => `account-${i}`);
		const statusOf = async (path: string, body?: object) => (await ask(port, path, ADMIN_TOKEN, body)).status;
		const index = { name: "docs", config: { dimensions: 3, metric: "cosine" } };
		const base = (account: string) => `/client/v4/accounts/${account}`;
		for (const account of accounts.slice(0, 2))
			expect(await statusOf(`${base(account)}/vectorize/v2/indexes`, index)).toBe(201);
		const scrape = `/metrics?${accounts.map((account) => `account=${account}`).join("&")}`;
		for (let i = 0; i < 2; i++) {
			const { body, status } = await ask(port, scrape, ADMIN_TOKEN);
			expect(status).toBe(200);
			expect(body.match(/^ganglion_storage_up\{.*\} 1$/gm)).toHaveLength(accounts.length);
			expect(body.match(/^ganglion_vector_indexes\{.*\} 1$/gm)).toHaveLength(2);
		}
		for (const account of accounts) expect(await statusOf(`${base(account)}/ai/usage`)).toBe(200);
		const filesOf = (name: string) =>
			readdirSync(join(objects, name)).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file)).length;
		expect(
			["BlobStore", "JobStore", "ResponseStore", "SearchRegistry", "VectorRegistry"].map(filesOf),
		).toEqual([...[0, 0, 0, 0], 2]);
		const listed = accounts.slice(0, 60).map((account) => statusOf(`${base(account)}/vectorize/v2/indexes`));
		expect(new Set(await Promise.all(listed))).toEqual(new Set([200]));
	});
});

describe.skipIf((reachFileLimit() ?? 0) < 8_192)("8,192 open files", () => {
	it("bound the connections, and more silent ones than that keep no request waiting", async () => {
		const { port, output } = await startGateway("http://127.0.0.1:9", 8_192);
		expect(output).toContain(
			"Open files: 8192, so at most 1219 connections at the same time, others get 503",
		);
		const silent = await Promise.all(Array.from({ length: 3 * 1_219 }, () => connect(port)));
		cleanups.push(() => {
			for (const socket of silent) socket.destroy();
		});
		expect((await search(port)).status).toBe(200);
		expect((await ask(port, "/health", "")).status).toBe(200);
	});
});

describe.skipIf(process.platform === "win32")("the limit of a process", () => {
	const PRINT = `import { reachFileLimit } from "./scripts/file-limit.ts";
		console.log(reachFileLimit(Number(process.argv[1]) || undefined));`;
	/** What a process reaches that begins with this limit. */
	const reached = (limit: number, setting = "", env: NodeJS.ProcessEnv = process.env): string => {
		const node = [process.execPath, "--input-type=module", "-e", PRINT, setting];
		const shell = ["-c", `ulimit -n ${limit}; exec "$0" "$@"`, ...node];
		return spawnSync("/bin/sh", shell, { encoding: "utf8", env }).stdout.trim();
	};

	it("is 65,536 where the system allows it, else what it was", () => {
		const raise = "ulimit -n 256; ulimit -n 65536 2>/dev/null; ulimit -n";
		const { stdout } = spawnSync("/bin/sh", ["-c", raise], { encoding: "utf8" });
		expect(["256", "65536"]).toContain(stdout.trim());
		expect(reached(256)).toBe(stdout.trim());
	});

	it("is raised for the process itself, by its id", () => {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-prlimit-"));
		cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
		const calls = join(folder, "calls");
		writeFileSync(join(folder, "prlimit"), `#!/bin/sh\necho "$PPID $*" > "${calls}"\n`, { mode: 0o755 });
		reached(256, "", { ...process.env, PATH: `${folder}:${process.env.PATH}` });
		const [, parent, id, files] =
			/^(\d+) --pid=(\d+) --nofile=(\d+)\n$/.exec(readFileSync(calls, "utf8")) ?? [];
		expect(id).toBe(parent);
		expect(files).toBe("65536");
	});

	it("is the one that is set, where that is lower", () => {
		expect(reached(256, "128")).toBe("128");
		const [program = "", ...args] = withFileLimit(128, ["/bin/sh", "-c", "ulimit -n"]);
		expect(spawnSync(program, args, { encoding: "utf8" }).stdout).toBe("128\n");
	});
});

it.skipIf(process.platform === "win32")(
	"refuses the start with fewer files than the runtime needs",
	async () => {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-files-"));
		cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
		const args = [CLI, "serve", "--port", String(await freePort()), "--state", join(folder, "state")];
		const env = { ...process.env, OPEN_FILES: "128" };
		const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
		expect(stderr).toMatch(
			/^open files are limited to 128, but the gateway needs 256 or more: raise the limit/,
		);
		expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
		expect(fileLimitRefusal(256)).toBeUndefined();
	},
);

it("shares the files between requests and objects, with a reserve", () => {
	expect(capacityOf(1_024)).toEqual({
		requests: 123,
		objects: 96,
		connections: 144,
		sockets: 72,
		exports: 48,
	});
	expect(capacityOf(65_536)).toEqual({
		...{ requests: 8_347, objects: 6_547, connections: 9_820 },
		...{ sockets: 4_910, exports: 200 },
	});
	expect(capacityOf(64)).toEqual({ requests: 1, objects: 1, connections: 1, sockets: 1, exports: 1 });
	expect(capacityOf(undefined).requests).toBe(Number.POSITIVE_INFINITY);
});
