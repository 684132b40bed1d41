/**
 * From the start to the first token, and what the gateway adds to a call of the model's own process in llama-server, each in three runs. Both
 * have one kept connection. CPU is counted by `/proc`, because latencies depend on the machine's other work.
 */
import { cpuMicroseconds } from "../bench/process.ts";
import { quantile } from "../bench/statistics.ts";
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

export async function pace(file: string, requests = 500): Promise<boolean> {
	const starts: number[] = [];
	const added: number[] = [];
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
		const engine = addressOf(own);
		const owned = ownProcesses(folder);
		const [past, through] = [oneConnection(), oneConnection()];
		const times: Record<"direct" | "gateway", number[]> = { direct: [], gateway: [] };
		const cpu = (): number => owned.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0) / 1_000;
		const before = cpu();
		// In turns, so that other work of the machine hits both.
		for (let count = 0; count < requests + WARM_UPS; count++) {
			const direct = await chat(engine.port, {
				model: MODEL,
				path: "/v1/chat/completions",
				key: engine.key,
				agent: past,
			});
			const passed = await chat(gateway.port, { model: MODEL, path: GATEWAY_PATH, agent: through });
			if (direct.status !== 200 || passed.status !== 200)
				throw new Error(`HTTP ${direct.status}, ${passed.status}: ${passed.text}`);
			if (count < WARM_UPS) continue;
			times.direct.push(direct.ms);
			times.gateway.push(passed.ms);
		}
		const share = (cpu() - before) / (requests + WARM_UPS);
		const [direct, passed] = [quantile(times.direct, 0.5), quantile(times.gateway, 0.5)];
		added.push(passed - direct);
		console.log(
			`run ${run + 1}: first token after ${Math.round(starts.at(-1) ?? 0)} ms; p50 of llama-server ${direct.toFixed(2)} ms, through the gateway ${passed.toFixed(2)} ms; CPU of the gateway a call ${share.toFixed(2)} ms`,
		);
		past.destroy();
		through.destroy();
		await gateway.kill("SIGTERM");
		remove(folder);
	}
	console.log(
		`first token: median ${Math.round(quantile(starts, 0.5))} ms, worst ${Math.round(Math.max(...starts))} ms`,
	);
	console.log(
		`added p50: median ${quantile(added, 0.5).toFixed(2)} ms, worst ${Math.max(...added).toFixed(2)} ms`,
	);
	return true;
}

/** Those of the gateway, without llama-server. */
const ownProcesses = (folder: string): number[] =>
	processesOf(folder)
		.filter(({ args }) => !/llama/.test(args[0] ?? ""))
		.map(({ pid }) => pid);
