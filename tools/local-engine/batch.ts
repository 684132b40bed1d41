/**
 * The engine of ONNX models with an encoder of the size of bge-small and random numbers: CPU a text one by one and 200 at once, and how
 * long its server lets another request wait meanwhile.
 */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Graph, writeOnnx } from "../../test/node/local-engine/onnx.ts";
import { modelAt, startOnnxEngine } from "../../test/node/local-engine/onnx-engine.ts";
import { sentimentModel } from "../../test/node/local-engine/tiny-models.ts";
import { cpuMicroseconds } from "../bench/process.ts";
import { quantile } from "../bench/statistics.ts";
import { remove } from "./gateway.ts";

const RUNS = 3;
const TEXTS = 200;
const LAYERS = 12;
const WIDTH = 384;
const INNER = 1_536;
const WORDS = ["good", "bad", "cat", "dog", "sun", "moon"];
/** Six words and two marks. */
const TEXT = WORDS.join(" ");
const PROBE_MS = 2;

/** As many products of matrices as bge-small has, without attention. */
function encoder(): Buffer {
	const weights: Graph["weights"] = [];
	const nodes: Graph["nodes"] = [];
	const matrix = (name: string, rows: number, columns: number): void => {
		// The numbers keep their size through the layers: very small ones are slow.
		const scale = Math.sqrt(12 / rows);
		const data = Array.from({ length: rows * columns }, () => (Math.random() - 0.5) * scale);
		weights.push({ name, dims: [rows, columns], data });
	};
	matrix("words", 10, WIDTH);
	nodes.push({ op: "Gather", inputs: ["words", "input_ids"], outputs: ["hidden"] });
	let last = "hidden";
	const multiply = (name: string, rows: number, columns: number): void => {
		matrix(name, rows, columns);
		nodes.push({ op: "MatMul", inputs: [last, name], outputs: [`${name} out`] });
		nodes.push({ op: "Tanh", inputs: [`${name} out`], outputs: [`${name} end`] });
		last = `${name} end`;
	};
	for (let layer = 0; layer < LAYERS; layer++) {
		for (const part of ["q", "k", "v", "o"]) multiply(`${part} ${layer}`, WIDTH, WIDTH);
		multiply(`up ${layer}`, WIDTH, INNER);
		multiply(`down ${layer}`, INNER, WIDTH);
	}
	nodes.push({ op: "Tanh", inputs: [last], outputs: ["last_hidden_state"] });
	const dims = ["batch", "length"];
	return writeOnnx({
		...{ nodes, weights },
		inputs: ["input_ids", "attention_mask"].map((name) => ({ name, isInteger: true as const, dims })),
		outputs: [{ name: "last_hidden_state", dims: [...dims, WIDTH] }],
	});
}

const childrenOf = (pid: number): number[] =>
	readdirSync(`/proc/${pid}/task`).flatMap((task) =>
		readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
	);

export async function batch(): Promise<boolean> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-tool-"));
	const files = { ...sentimentModel("unused"), "onnx/model.onnx": encoder() };
	const model = modelAt(folder, "encoder", "embeddings", files);
	const engine = await startOnnxEngine({ room: 10 });
	await engine.setModels([model]);
	const embed = () => engine.post("/v1/embeddings", { model: "encoder", input: TEXT });
	const first = await embed();
	if (first.status !== 200) throw new Error(JSON.stringify(first.json));
	const pid = (await engine.models())[0]?.pid ?? 0;
	const all = [pid, ...childrenOf(pid)];
	const cpu = (): number => all.reduce((sum, one) => sum + cpuMicroseconds(one), 0) / 1_000;
	const shares: number[] = [];
	const waits: number[] = [];
	for (let run = 0; run < RUNS; run++) {
		const began = cpu();
		for (let count = 0; count < TEXTS; count++) await embed();
		const alone = (cpu() - began) / TEXTS;
		const before = cpu();
		const latencies: number[] = [];
		let isRunning = true;
		const probing = (async () => {
			while (isRunning) {
				const sent = performance.now();
				await engine.get("/health");
				latencies.push(performance.now() - sent);
				await wait(PROBE_MS);
			}
		})();
		const answers = await Promise.all(Array.from({ length: TEXTS }, embed));
		isRunning = false;
		await probing;
		const together = (cpu() - before) / TEXTS;
		const failed = answers.filter(({ status }) => status !== 200).length;
		shares.push(together / alone);
		waits.push(quantile(latencies, 0.99));
		console.log(
			`run ${run + 1}: CPU a text ${alone.toFixed(2)} ms one by one, ${together.toFixed(2)} ms at once; ${failed} failed; /health meanwhile p99 ${waits.at(-1)?.toFixed(1)} ms of ${latencies.length}`,
		);
	}
	console.log(
		`share: median ${quantile(shares, 0.5).toFixed(2)}, worst ${Math.max(...shares).toFixed(2)}; p99: median ${quantile(waits, 0.5).toFixed(1)} ms, worst ${Math.max(...waits).toFixed(1)} ms`,
	);
	engine.stop();
	remove(folder);
	return true;
}
