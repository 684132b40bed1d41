/**
 * `serve --workers 3` over `--workers 1`, when each worker has a core. The machine may have fewer cores: each worker, with its
 * connection guard, gets the same share of a core, and the load and the engine get what remains.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../scripts/free-port.ts";
import { listening } from "../../scripts/workerd.ts";
import { CHAT, type Context, startBoth, stopAll } from "./context.ts";
import { CoreShare, hasQuotas } from "./core-shares.ts";
import { type Ask, load, warmUp } from "./load.ts";
import { childrenOf } from "./process.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN, createToken } from "./token.ts";

const CLI = join(import.meta.dirname, "../../dist/cli/index.js");
const ACCOUNT = "bench";
const SHARE = 0.2;
/** More connections than workers, because each connection stays with its worker. */
const CONNECTIONS = 48;
export const CHAT_MODES = ["json", "bulk"] as const;
const WARM_UP_ANSWERS = { json: 3_000, bulk: 150 };
const WARM_UP_MS = 60_000;
const START_MS = 10_000;
const POLL_MS = 50;
/** Three workers complete at least 2.2 times the answers of one. */
const BAR = 0.45;

export async function severalWorkers(context: Context): Promise<Row[]> {
	if (!hasQuotas()) {
		context.say("  no CPU quotas (cgroup version 1, as root): several workers are not measured");
		return [];
	}
	const gateways = await startBoth(
		() => startShared(context, 3),
		() => startShared(context, 1),
	);
	try {
		const rows: Row[] = [];
		for (const mode of CHAT_MODES) {
			const loopsOf = gateways.map(({ ask }) => [{ ask: ask(mode), connections: CONNECTIONS }]);
			for (const loops of loopsOf) await warmUp(loops, WARM_UP_ANSWERS[mode], WARM_UP_MS);
			const rates: [number, number][] = [];
			for (let round = 0; round < context.rounds; round++)
				rates.push([await rate(context, loopsOf[0] ?? []), await rate(context, loopsOf[1] ?? [])]);
			const [three, one] = [0, 1].map((which) => spread(rates.map((pair) => pair[which] ?? 0)).median);
			rows.push({
				label: `${mode === "json" ? "small JSON" : "streams of 200 events"}, a core each: answers a second of one worker / three`,
				measured: spread(rates.map(([of3, of1]) => of1 / of3)),
				unit: "x",
				bar: BAR,
				note: `${one?.toFixed(0)} to ${three?.toFixed(0)} answers a second, ${SHARE} of a core for each worker`,
			});
		}
		return rows;
	} finally {
		await stopAll(gateways);
	}
}

/** Answers a second. */
async function rate({ seconds }: Context, loops: Parameters<typeof load>[0]): Promise<number> {
	const startedAt = performance.now();
	const [answers = 0] = await load(loops, seconds * 1000);
	return (answers * 1000) / (performance.now() - startedAt);
}

/** A gateway whose workers have a share of a core each. */
async function startShared(context: Context, count: number): Promise<Gateway> {
	const gateway = await startGateway(context, count);
	const processes = processesOf(gateway.pid, count);
	const shares = await processes.then(shareCores).catch(async (error) => {
		await gateway.stop();
		throw error;
	});
	return {
		...gateway,
		async stop() {
			await gateway.stop();
			for (const share of shares) await share.remove();
		},
	};
}

export interface Gateway {
	/** Of the command. */
	pid: number;
	ask(mode: (typeof CHAT_MODES)[number]): Ask;
	stop(): Promise<void>;
}

/** `serve` with so many workers. @param name of its folder. */
export async function startGateway(
	{ field }: Context,
	count: number,
	name = `workers-${count}`,
): Promise<Gateway> {
	const folder = join(field.folder, name);
	mkdirSync(folder);
	const config = join(folder, "ganglion.json");
	writeFileSync(config, JSON.stringify({ vars: variables(field.upstream.url) }));
	const port = await freePort();
	const args = ["serve", "--config", config, "--state", join(folder, "state"), "--port", String(port)];
	const command = spawn(process.execPath, [CLI, ...args, "--workers", String(count)], {
		stdio: "ignore",
		env: { ...process.env, ADMIN_TOKEN },
	});
	const url = `http://127.0.0.1:${port}`;
	let token: string;
	const stop = async (): Promise<void> => {
		const ended = once(command, "exit");
		if (command.exitCode === null && command.kill("SIGTERM")) await ended;
	};
	try {
		await listening({ port }, command);
		token = await createToken(url, ACCOUNT);
	} catch (error) {
		await stop();
		throw error;
	}
	return {
		pid: command.pid ?? 0,
		ask: (mode) => ({
			url: `${url}/client/v4/accounts/${ACCOUNT}/ai/v1/chat/completions`,
			headers: { authorization: `Bearer ${token}` },
			body: JSON.stringify({ model: `bench/${mode}`, ...CHAT, ...(mode === "bulk" && { stream: true }) }),
		}),
		stop,
	};
}

const variables = (upstream: string): object => ({
	BACKENDS: Object.fromEntries(
		CHAT_MODES.map((mode) => [mode, { kind: "openai", url: `${upstream}/${mode}/v1` }]),
	),
	ROUTES: Object.fromEntries(CHAT_MODES.map((mode) => [`bench/${mode}`, [{ backend: mode }]])),
	// Enforced, but above what a bench can reach.
	LIMITS: { plan: "paid", daily_neurons: 1e9, requests_per_minute: { "Text Generation": 10_000_000 } },
});

interface Processes {
	command: number;
	/** Of each worker, in their order. */
	runtimes: number[];
	/** Of each worker if there are several, else none: the command is the connection guard. */
	guards: number[];
}

/** The first worker shares its core with the command. */
const shareCores = ({ command, runtimes, guards }: Processes): CoreShare[] =>
	runtimes.map((runtime, index) => {
		const share = new CoreShare(`${runtimes.length}-${index + 1}`, SHARE);
		for (const pid of [runtime, guards[index], index === 0 ? command : undefined])
			if (pid !== undefined) share.add(pid);
		return share;
	});

async function processesOf(command: number, count: number): Promise<Processes> {
	const until = performance.now() + START_MS;
	while (performance.now() < until) {
		const children = childrenOf(command);
		const runtimes = children.filter(({ line }) => line.includes("workerd")).map(({ pid }) => pid);
		const guards = children.filter(({ line }) => line.includes("guard.js")).map(({ pid }) => pid);
		if (runtimes.length === count && guards.length === (count > 1 ? count : 0))
			return { command, runtimes, guards };
		await wait(POLL_MS);
	}
	throw new Error(`the processes of ${count} workers were not found`);
}
