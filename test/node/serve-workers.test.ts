/** `ganglion serve --workers 2`: one state, one reload and one stop for two processes. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { ask } from "./connections.ts";
import { runScript, type Script, stopScripts } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-32-characters-or-more";
const MODEL = "@cf/meta/llama-3.1-8b-instruct-fast";
const READY = /Accounts and bills are in .*\n[\s\S]*\n/;
const ACCOUNT = "/client/v4/accounts/acme/ai";

let folder = "";
let port = 0;
/** The engine's streams in progress. */
let streams: ServerResponse[] = [];
const chunk = (delta: object, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const engine = createServer(async (request, response) => {
	const { model, stream } = (await json(request)) as { model: string; stream?: boolean };
	if (stream) {
		streams.push(response);
		response.setHeader("content-type", "text/event-stream").write(chunk({ content: "one" }));
		return;
	}
	const choices = [{ index: 0, message: { role: "assistant", content: model }, finish_reason: "stop" }];
	response.setHeader("content-type", "application/json").end(JSON.stringify({ choices }));
});

beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-workers-"));
	mkdirSync(join(folder, "tmp"));
	port = await freePort();
	streams = [];
	engine.listen(0, "127.0.0.1");
	await once(engine, "listening");
});
afterEach(() => {
	stopScripts();
	engine.closeAllConnections();
	engine.close();
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** In one step: the gateway may read the file at any time. */
function configure(model: string): void {
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	const BACKENDS = { engine: { kind: "openai", url } };
	const vars = { ADMIN_TOKEN, BACKENDS, ROUTES: { "*": [{ backend: "engine", model }] } };
	writeFileSync(join(folder, "new.json"), JSON.stringify({ vars }));
	renameSync(join(folder, "new.json"), join(folder, "ganglion.json"));
}

function serve(options: readonly string[] = [], env: Record<string, string> = {}): Script {
	const args = ["--port", String(port), "--workers", "2", "--state", join(folder, "state"), ...options];
	return runScript(CLI, ["serve", ...args, "--config", join(folder, "ganglion.json")], {
		env: { TMPDIR: join(folder, "tmp"), ...env },
	});
}

const get = (path: string) => ask(port, path, ADMIN_TOKEN);
const run = () => ask(port, `${ACCOUNT}/run/${MODEL}`, ADMIN_TOKEN, { prompt: "hi" });
const startStream = (signal?: AbortSignal): Promise<Response> =>
	fetch(`http://127.0.0.1:${port}${ACCOUNT}/v1/chat/completions`, {
		method: "POST",
		headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
		body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }], stream: true }),
		...(signal && { signal }),
	});

/** The status, on a new connection. One that was on its way to a process that is killed may get no answer. */
const health = (): Promise<number | undefined> =>
	fetch(`http://127.0.0.1:${port}/health`, {
		headers: { connection: "close" },
		signal: AbortSignal.timeout(2_000),
	}).then(
		({ status }) => status,
		() => undefined,
	);

/** The processes that accept connections. */
const guardsOf = (command: number): number[] =>
	execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" })
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.filter(([, parent, ...args]) => Number(parent) === command && args.join(" ").includes("guard.js"))
		.map(([pid]) => Number(pid));

describe("serve --workers", () => {
	it("with --separate-large, serves more connections than a worker can open, and refuses the option for one worker", async () => {
		configure("model-0");
		const script = serve(["--separate-large"], { OPEN_FILES: "256" });
		await script.until(READY);
		// One worker could open 36 connections with 256 files, two of them 72.
		const answers = await Promise.all(Array.from({ length: 200 }, run));
		const statuses = new Set(answers.map(({ status }) => status));
		expect(statuses.has(200)).toBe(true);
		for (const status of statuses) expect([200, 429, 503]).toContain(status);
		expect((await run()).status).toBe(200);
		script.kill("SIGTERM");
		expect(await script.exit).toBe(0);

		const refused = serve(["--separate-large", "--workers", "1"]);
		expect(await refused.exit).toBe(1);
		expect(await refused.until(/$/)).toContain(
			"--separate-large: expected two workers or more (--workers 2)",
		);
	});

	it("serves from all processes, reloads them, notices a caller that leaves, and completes the answers at a stop", async () => {
		configure("model-0");
		const script = serve();
		await script.until(READY);
		expect((await get("/ready")).status).toBe(200);

		const leaving = new AbortController();
		const left = await startStream(leaving.signal);
		const kept = await startStream();
		expect(left.status).toBe(200);
		expect(kept.status).toBe(200);
		const { body: metrics } = await get("/metrics?account=acme");
		const engineOf = `backend="engine",replica="127.0.0.1:${(engine.address() as AddressInfo).port}",model="model-0"`;
		for (const line of [
			'ganglion_worker_up{worker="1"} 1',
			'ganglion_worker_up{worker="2"} 1',
			`ganglion_engine_requests_total{${engineOf},worker="1"} 1`,
			`ganglion_engine_requests_total{${engineOf},worker="2"} 1`,
			// Each process sees the requests of both.
			'ganglion_open_requests{account="acme"} 2',
		])
			expect(metrics).toContain(`${line}\n`);
		const { result } = JSON.parse((await get("/client/v4/engines")).body);
		expect(result.engines).toMatchObject([{ backend: "engine", requests: 2 }]);

		// The engine sends nothing meanwhile.
		const [abandoned, running] = streams;
		if (!abandoned || !running) throw new Error("the engine has no streams");
		const closed = once(abandoned, "close");
		leaving.abort();
		await closed;

		// Files, and methods of an object's result, from both processes.
		const routes = "/client/v4/accounts/acme/ai-gateway/gateways/default/routes";
		for (const path of ["/console", "/console", routes, routes])
			expect((await get(path)).status, path).toBe(200);

		configure("model-1");
		await script.until(/Reloaded in/);
		const models = await Promise.all([run(), run(), run(), run()]);
		expect(models.map(({ body }) => JSON.parse(body).result.response)).toEqual(Array(4).fill("model-1"));

		script.kill("SIGTERM");
		await script.until(/Waiting for running answers/);
		await expect.poll(async () => [(await get("/")).status, (await get("/")).status]).toEqual([503, 503]);
		running.end(`${chunk({ content: " two" })}${chunk({}, "stop")}data: [DONE]\n\n`);
		expect(await kept.text()).toMatch(/ two[\s\S]*data: \[DONE\]\n\n$/);
		expect(await script.exit).toBe(0);
		expect(readdirSync(join(folder, "tmp"))).toEqual([]);

		const again = serve();
		await again.until(READY);
		const { result: requests } = JSON.parse((await get(`${ACCOUNT}/usage/requests`)).body);
		const outcomes = requests.map(({ outcome }: { outcome: string }) => outcome);
		expect(outcomes.sort()).toEqual(["cancelled", "ok", "ok", "ok", "ok", "ok"]);

		again.kill("SIGTERM");
		expect(await again.exit).toBe(0);
	});

	it("starts a worker again, its guard and its settings too, while the others serve; without the first one all stop", async () => {
		configure("model-0");
		const script = serve();
		await script.until(READY);
		const pids = (): number[] =>
			readFileSync(join(folder, "state/workerd.pid"), "utf8").split(" ").map(Number);
		const [first, second] = pids();
		if (!first || !second) throw new Error("two workers have no processes");
		process.kill(second, "SIGKILL");
		await script.until(/Worker 2 has stopped by itself \(SIGKILL\) and is started again/);
		configure("model-1");
		// The guard of the second worker ends a moment later.
		await expect.poll(health).toBe(200);
		await script.until(/Worker 2 serves requests again/);
		await script.until(/Reloaded in/);
		expect(pids()[0]).toBe(first);
		expect(pids()[1]).not.toBe(second);
		const answers = await Promise.all(Array.from({ length: 4 }, run));
		expect(answers.map(({ body }) => JSON.parse(body).result.response)).toEqual(Array(4).fill("model-1"));
		const { body: metrics } = await get("/metrics");
		expect(metrics).toContain('ganglion_worker_up{worker="2"} 1\n');

		const [guard] = guardsOf(script.pid);
		if (guard === undefined) throw new Error("no process accepts connections");
		process.kill(guard, "SIGKILL");
		await script.until(
			/A process that accepts connections has stopped by itself \(SIGKILL\)\. It is started again/,
		);
		await expect.poll(() => guardsOf(script.pid).length).toBe(2);
		await expect.poll(health).toBe(200);

		process.kill(first, "SIGKILL");
		expect(await script.exit).toBe(1);
		expect(await script.until(/$/)).toContain("workerd has stopped by itself (SIGKILL)");
		expect(readdirSync(join(folder, "tmp"))).toEqual([]);
	});
});
