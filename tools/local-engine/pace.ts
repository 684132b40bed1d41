/**
 * From the start to the first token, and what the gateway adds to a call of the model's own process in llama-server, each in three runs. Beside
 * it a bare Worker, alone and behind the connection guard, so that the added time has three parts: the runtime, the guard, the gateway's own
 * work. Each has one kept connection. CPU is counted by `/proc`, because latencies depend on the machine's other work.
 */
import { join } from "node:path";
import { cpuMicroseconds } from "../bench/process.ts";
import { medianAndWorst, quantile } from "../bench/statistics.ts";
import { startBareWorker, startGuardedWorker } from "./bare-workers.ts";
import {
	addressOf,
	becomes,
	type Chat,
	chat,
	GATEWAY_PATH,
	MODELS,
	modelProcesses,
	newFolder,
	oneConnection,
	processesOf,
	remove,
	startGateway,
} from "./gateway.ts";

const RUNS = 3;
/** The engine of JavaScript compiles what is called often. */
const WARM_UPS = 500;
const [MODEL] = MODELS;
const ENGINE_PATH = "/v1/chat/completions";

/** In the order of their parts: each passes through what the one before it passes through, and something else. */
const WAYS = ["llama-server", "a bare Worker", "the guard and a bare Worker", "the gateway"] as const;

/** What each adds to the one before it. */
const PARTS = ["the runtime", "the guard", "the gateway's own work"];

interface Way {
	port: number;
	path: string;
	key?: string;
}

export async function pace(file: string, requests = 500): Promise<boolean> {
	const starts: number[] = [];
	const medians: number[][] = [];
	for (let run = 0; run < RUNS; run++) {
		const folder = newFolder(file, [MODEL]);
		const began = performance.now();
		const gateway = await startGateway(folder);
		let first: Chat | undefined;
		await becomes(async () => {
			const asked = performance.now() - began;
			const answer = await chat(gateway.port, { model: MODEL, path: GATEWAY_PATH, stream: true });
			if (answer.status === 200) first = { ...answer, firstMs: asked + answer.firstMs };
			return first !== undefined;
		});
		starts.push(first?.firstMs ?? Number.NaN);
		const [own] = modelProcesses(folder);
		if (!own) throw new Error(`no process of a model\n${gateway.output()}`);
		const owned = ownProcesses(folder);
		const engine = { ...addressOf(own), path: ENGINE_PATH };
		const upstream = `http://127.0.0.1:${engine.port}`;
		const bare = await startBareWorker(upstream, join(folder, "bare"));
		const guarded = await startGuardedWorker(upstream, join(folder, "guarded"));
		const ways: Way[] = [
			engine,
			{ ...engine, port: bare.port },
			{ ...engine, port: guarded.port },
			{ port: gateway.port, path: GATEWAY_PATH },
		];
		const cpu = (): number => owned.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0) / 1_000;
		const before = cpu();
		const p50s = await inTurns(ways, requests);
		const share = (cpu() - before) / (requests + WARM_UPS);
		medians.push(p50s);
		console.log(
			`run ${run + 1}: first token after ${Math.round(starts.at(-1) ?? 0)} ms; p50 of ${WAYS.map((name, i) => `${name} ${p50s[i]?.toFixed(2)} ms`).join(", ")}; CPU of the gateway a call ${share.toFixed(2)} ms`,
		);
		await guarded.stop();
		await bare.stop();
		await gateway.kill("SIGTERM");
		remove(folder);
	}
	console.log(`first token: ${medianAndWorst(starts, 0, " ms")}`);
	const added = (from: number, to: number): number[] =>
		medians.map((each) => (each[to] ?? Number.NaN) - (each[from] ?? Number.NaN));
	console.log(`added p50: ${medianAndWorst(added(0, 3), 2, " ms")}`);
	for (const [i, part] of PARTS.entries())
		console.log(`  ${part}: ${medianAndWorst(added(i, i + 1), 2, " ms")}`);
	return true;
}

/** The p50 of each. They take turns, so that other work of the machine hits all of them. */
async function inTurns(ways: readonly Way[], requests: number): Promise<number[]> {
	const connected = ways.map((way) => ({ ...way, agent: oneConnection() }));
	const times: number[][] = ways.map(() => []);
	for (let count = 0; count < requests + WARM_UPS; count++)
		for (const [i, { port, ...way }] of connected.entries()) {
			// llama-server warns of a text that it has just read.
			const text = `${count} ${i}`;
			const answer = await chat(port, { model: MODEL, text, ...way });
			if (answer.status !== 200) throw new Error(`${WAYS[i]}: HTTP ${answer.status}: ${answer.text}`);
			if (count >= WARM_UPS) times[i]?.push(answer.ms);
		}
	for (const { agent } of connected) agent.destroy();
	return times.map((each) => quantile(each, 0.5));
}

/** Those of the gateway, without llama-server. */
const ownProcesses = (folder: string): number[] =>
	processesOf(folder)
		.filter(({ args }) => !/llama/.test(args[0] ?? ""))
		.map(({ pid }) => pid);
