/**
 * The engine of ONNX models with an encoder with the layers of bge-small and random numbers: CPU a text one by one and 200 at once. Meanwhile the
 * delay of its server's event loop, which the server measures itself, because this process is busy with the 200 requests; and the longest CPU of
 * a round of that loop, which does not depend on the machine's other work.
 */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { modelAt, startOnnxEngine } from "../../test/node/local-engine/onnx-engine.ts";
import { sentimentModel } from "../../test/node/local-engine/tiny-models.ts";
import { cpuMicroseconds } from "../bench/process.ts";
import { medianAndWorst } from "../bench/statistics.ts";
import { randomEncoder } from "./encoder.ts";
import { remove } from "./gateway.ts";

const RUNS = 3;
const TEXTS = 200;
const ROUNDS = new URL("rounds.ts", import.meta.url).href;
const SIGNAL_MS = 200;
const WORDS = ["good", "bad", "cat", "dog", "sun", "moon"];
/** Six words and two marks. */
const TEXT = WORDS.join(" ");

const childrenOf = (pid: number): number[] =>
	readdirSync(`/proc/${pid}/task`).flatMap((task) =>
		readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
	);

export async function batch(): Promise<boolean> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-tool-"));
	const files = { ...sentimentModel("unused"), "onnx/model.onnx": randomEncoder() };
	const model = modelAt(folder, "encoder", "embeddings", files);
	const roundsFile = join(folder, "rounds");
	const measures = { NODE_OPTIONS: `--import ${ROUNDS}`, GANGLION_ROUNDS: roundsFile };
	const engine = await startOnnxEngine({ room: 10, env: measures });
	const signalRounds = async (): Promise<void> => {
		process.kill(engine.pid, "SIGUSR2");
		await wait(SIGNAL_MS);
	};
	await engine.setModels([model]);
	const embed = () => engine.post("/v1/embeddings", { model: "encoder", input: TEXT });
	const first = await embed();
	if (first.status !== 200) throw new Error(JSON.stringify(first.json));
	const pid = (await engine.models())[0]?.pid ?? 0;
	const all = [pid, ...childrenOf(pid)];
	const cpu = (): number => all.reduce((sum, one) => sum + cpuMicroseconds(one), 0) / 1_000;
	const shares: number[] = [];
	const waits: number[] = [];
	const rounds: number[] = [];
	for (let run = 0; run < RUNS; run++) {
		const began = cpu();
		for (let count = 0; count < TEXTS; count++) await embed();
		const alone = (cpu() - began) / TEXTS;
		const before = cpu();
		await engine.get("/metrics");
		await signalRounds();
		const answers = await Promise.all(Array.from({ length: TEXTS }, embed));
		const delay = Number(
			/loop_delay_seconds\{quantile="0\.99"\} (\S+)/.exec(await engine.get("/metrics"))?.[1],
		);
		const together = (cpu() - before) / TEXTS;
		await signalRounds();
		rounds.push(Number(readFileSync(roundsFile, "utf8")));
		const failed = answers.filter(({ status }) => status !== 200).length;
		shares.push(together / alone);
		waits.push(delay * 1_000);
		console.log(
			`run ${run + 1}: CPU a text ${alone.toFixed(2)} ms one by one, ${together.toFixed(2)} ms at once; ${failed} failed; the loop of the server p99 ${waits.at(-1)?.toFixed(1)} ms, its longest round ${rounds.at(-1)?.toFixed(1)} ms of CPU`,
		);
	}
	console.log(
		`share: ${medianAndWorst(shares, 2)}; p99: ${medianAndWorst(waits, 1, " ms")}; longest round: ${medianAndWorst(rounds, 1, " ms")} of CPU`,
	);
	engine.stop();
	remove(folder);
	return true;
}
