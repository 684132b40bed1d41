/** A script with a binding whose models run on this machine ends when its own work has ended, as it does with every other binding. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { isRunning } from "../../../scripts/child.ts";
import { findWeights } from "../../../scripts/local-engine/table.ts";
import { runScript, stopScripts } from "../script.ts";
import { packages, program } from "./onnx-engine.ts";
import { placeWeights, real } from "./real-gateway.ts";
import { tinyChat } from "./tiny-gguf.ts";
import { sentimentModel } from "./tiny-models.ts";

const SCRIPTED = resolve("test/node/local-engine/llama-server.mjs");
const LLAMA = "@cf/meta/llama-3.2-1b-instruct";
const SST = "@cf/huggingface/distilbert-sst-2-int8";
const NOW = Date.parse("2026-11-29T00:00:00Z");
/** A server that has not answered is given up after 30 s. */
const SECONDS = 20_000;

const folder = mkdtempSync(join(tmpdir(), "ganglion-script-end-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
afterEach(stopScripts);

function modelsWith(name: string, contents: readonly Buffer[]): string {
	const models = mkdtempSync(join(folder, "models-"));
	placeWeights(models, name, contents);
	return models;
}

interface Ended {
	code: number | null;
	output: string;
}

/** Runs the script until it ends. */
async function run(env: Record<string, string>, ...question: string[]): Promise<Ended> {
	const script = runScript(join(import.meta.dirname, "one-question.ts"), question, {
		env: { GANGLION_MODELS: join(folder, "none"), HOME: folder, LLAMA_ARG_THREADS: "1", ...env },
	});
	const code = await script.exit;
	return { code, output: await script.until(/(?!)/) };
}

const BODY = { model: LLAMA, messages: [{ role: "user", content: "hi" }], max_tokens: 1 };
const CHAT = [LLAMA, "/v1/chat/completions", JSON.stringify(BODY)];

describe("a script with a model of this machine ends by itself", () => {
	it(
		"after an answer, and leaves no llama-server",
		async () => {
			const models = modelsWith(LLAMA, [Buffer.from("GGUF")]);
			const { code, output } = await run({ GANGLION_MODELS: models, LLAMA_SERVER: SCRIPTED }, ...CHAT);
			expect([code, output]).toEqual([0, expect.stringContaining("answered 200")]);
			const pid = Number(/of process (\d+)/.exec(output)?.[1]);
			await expect.poll(() => isRunning(pid)).toBe(false);
		},
		SECONDS,
	);

	it(
		"without a question",
		async () => {
			expect(await run({ LLAMA_SERVER: SCRIPTED })).toEqual({ code: 0, output: "" });
		},
		SECONDS,
	);

	it(
		"while llama-server has not answered yet, or cannot start",
		async () => {
			const servers = { silent: "sleep 100", failing: "exit 1" };
			for (const [name, command] of Object.entries(servers)) {
				const file = join(folder, name);
				writeFileSync(file, `#!/bin/sh\n[ "$1" = --help ] && exec echo --models-preset\n${command}\n`);
				chmodSync(file, 0o755);
				expect(await run({ LLAMA_SERVER: file }), name).toEqual({ code: 0, output: "" });
			}
		},
		SECONDS,
	);

	it(
		"with the sentence of a missing llama-server",
		async () => {
			const { code, output } = await run({ LLAMA_SERVER: join(folder, "absent") }, ...CHAT);
			expect([code, output]).toEqual([1, expect.stringContaining("absent does not exist")]);
		},
		SECONDS,
	);

	it.skipIf(!real)(
		"after an answer of a real llama-server",
		async () => {
			const models = modelsWith(LLAMA, [tinyChat()]);
			const { code, output } = await run({ GANGLION_MODELS: models }, ...CHAT);
			expect([code, output]).toEqual([0, expect.stringContaining("answered 200")]);
		},
		SECONDS,
	);

	it.skipIf(!program)(
		"after an answer of an ONNX model",
		async () => {
			const files = sentimentModel("onnx/model_quantized.onnx");
			const weights = findWeights(SST, NOW);
			const contents = weights?.files.map(({ name }) => Buffer.from(files[name] ?? "{}")) ?? [];
			const env = {
				GANGLION_MODELS: modelsWith(SST, contents),
				LLAMA_SERVER: SCRIPTED,
				GANGLION_ENGINE_PACKAGES: packages,
			};
			const { code, output } = await run(env, SST, "/predict", '{"inputs":"good cat"}');
			expect([code, output]).toEqual([0, expect.stringContaining("answered 200")]);
		},
		SECONDS,
	);
});
