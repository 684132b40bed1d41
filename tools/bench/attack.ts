/**
 * The worst requests of a stranger and of one caller with a valid token: CPU that each costs the gateway, and how long
 * another caller waits meanwhile. The gateway runs on one core, so its CPU is what others wait for.
 */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { serve } from "../../scripts/workerd.ts";
import { type Hostile, hostileRequests } from "./attack-requests.ts";
import { BUILT, CONTENDERS_CPU } from "./contenders.ts";
import type { Context } from "./context.ts";
import { agentOf } from "./load.ts";
import { quantile, spread } from "./statistics.ts";
import { type Row, rowLine } from "./table.ts";
import { ADMIN_TOKEN, createToken } from "./token.ts";

const CPU_BAR_MS = 20;
const DELAY_BAR_MS = 50;
/** Repetitions of each request. The first ones compile its code, and do not count. */
const WARM_UPS = 3;
const TIMES = 7;
/** How long the neighbour asks alone: the noise of the machine. */
const QUIET_MS = 100;

/** Milliseconds of CPU of all threads, to the nanosecond. */
function cpuMs(pid: number): number {
	const tasks = `/proc/${pid}/task`;
	return readdirSync(tasks).reduce((sum, task) => {
		const [ran = "0"] = readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ");
		return sum + Number(ran) / 1e6;
	}, 0);
}

interface Sent {
	status: number;
	milliseconds: number;
}

type Request = Pick<Hostile, "method" | "headers" | "body" | "chunked">;

const agent = agentOf(8);

/** `path`: sent as it is, which a `URL` would not do. */
function send(
	{ port, path }: { port: number; path: string },
	{ method = "POST", headers, body, chunked }: Request,
): Promise<Sent> {
	const begun = performance.now();
	return new Promise((resolve) => {
		const end = (status: number): void => resolve({ status, milliseconds: performance.now() - begun });
		const length = body && !chunked ? { "content-length": String(body.length) } : {};
		const options = { host: "127.0.0.1", port, path, method, agent, headers: { ...headers, ...length } };
		const sent = request(options, (answer) => {
			answer.resume();
			answer.on("end", () => end(answer.statusCode ?? 0));
			answer.on("error", () => end(0));
		});
		sent.on("upgrade", (_, socket) => {
			socket.destroy();
			end(101);
		});
		// The gateway may close a connection whose body it does not read.
		sent.on("error", () => end(0));
		sent.end(body);
	});
}

export async function attack({ field, say }: Context): Promise<Row[]> {
	const folder = join(field.folder, "attack");
	mkdirSync(folder);
	const spec = {
		name: "ganglion",
		modules: modulesIn(BUILT),
		vars: {
			// An engine that refuses every request: what is measured is before it.
			BACKENDS: { engine: { kind: "openai", url: "http://127.0.0.1:9/v1" } },
			ROUTES: { "*": [{ backend: "engine", model: "m" }] },
			LIMITS: { requests_per_minute: "none", daily_neurons: 1e9 },
			ADMIN_TOKEN,
		},
		...runtimeSettings(),
	};
	const port = await freePort();
	const served = await serve(spec, port, folder, CONTENDERS_CPU);
	try {
		const valid = await createToken(served.url, "bench");
		const tokens = {
			none: undefined,
			invented: valid.replace(/.$/, (last) => (last === "a" ? "b" : "a")),
			valid,
		};
		const usage = { port, path: "/client/v4/accounts/bench/ai/usage" };
		const neighbour = () => send(usage, { method: "GET", headers: { authorization: `Bearer ${valid}` } });
		const rows: Row[] = [];
		for (const { label, path, token, plain, noBar, ...hostile } of hostileRequests()) {
			const text = tokens[token];
			const headers = { ...(text !== undefined && { authorization: `Bearer ${text}` }), ...hostile.headers };
			const ask = (body?: Buffer) => () =>
				send({ port, path }, { ...hostile, headers, ...(body && { body }) });
			const { costs, status } = await costsOf(served.pid, ask(hostile.body));
			const usual = plain ? quantile((await costsOf(served.pid, ask(plain))).costs, 0.5) : 0;
			const alone = await waits(neighbour, () => wait(QUIET_MS));
			const beside = await waits(neighbour, ask(hostile.body));
			const description = `${token === "none" ? "no" : token === "valid" ? "a valid" : "an invented"} token, ${label}`;
			const cpu: Row = {
				label: `${description}: CPU${plain ? " above that of a valid file" : ""}`,
				measured: spread(costs.map((cost) => cost - usual)),
				unit: "ms",
				...(!noBar && { bar: CPU_BAR_MS }),
				note: `HTTP ${status}${plain ? `, a valid file ${usual.toFixed(1)} ms` : ""}`,
			};
			const delay: Row = {
				label: `${description}: another's longest wait`,
				measured: spread(beside),
				unit: "ms",
				error: spread(alone),
				...(!noBar && { bar: DELAY_BAR_MS }),
				note: `alone ${quantile(alone, 0.5).toFixed(1)} ms`,
			};
			rows.push(cpu, delay);
			say(`  ${rowLine(cpu)}\n  ${rowLine(delay)}`);
		}
		return rows;
	} finally {
		await served.stop();
	}
}

/** Milliseconds of CPU of each of some requests, after the first ones. */
async function costsOf(pid: number, ask: () => Promise<Sent>): Promise<{ costs: number[]; status: number }> {
	const costs: number[] = [];
	let status = 0;
	for (let i = -WARM_UPS; i < TIMES; i++) {
		const before = cpuMs(pid);
		({ status } = await ask());
		if (i >= 0) costs.push(cpuMs(pid) - before);
	}
	return { costs, status };
}

/** The neighbour's longest wait during each of some pieces of work. */
async function waits(neighbour: () => Promise<Sent>, work: () => Promise<unknown>): Promise<number[]> {
	const longest: number[] = [];
	for (let i = 0; i < TIMES; i++) {
		const state = { over: false };
		const done = work().then(() => {
			state.over = true;
		});
		let most = 0;
		while (!state.over) most = Math.max(most, (await neighbour()).milliseconds);
		await done;
		longest.push(most);
	}
	return longest;
}
