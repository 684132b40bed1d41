/** The engine of ONNX models, with models of a few numbers whose answers are computed here. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isFree } from "../../../scripts/free-port.ts";
import { modelAt, type OnnxEngine, program, startOnnxEngine } from "./onnx-engine.ts";
import { endlessModel, summaryModel } from "./tiny-generators.ts";
import {
	embeddingModel,
	embeddingOf,
	idsOf,
	imageModel,
	labelScoresOf,
	logitOf,
	rerankerModel,
	sentimentModel,
} from "./tiny-models.ts";
import { samplesOf, VOICE_RATE, voiceModel } from "./tiny-voice.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-onnx-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TEXTS = ["good cat", "bad", "the sun", "moon dog cat good bad"];
const isNear = (found: readonly number[], expected: readonly number[]): void => {
	expect(found).toHaveLength(expected.length);
	for (const [at, value] of expected.entries()) expect(found[at]).toBeCloseTo(value, 5);
};
const vectorsOf = (json: unknown): number[][] =>
	(json as { data: { embedding: number[] }[] }).data.map(({ embedding }) => embedding);
const messageOf = (json: unknown): string => (json as { error: { message: string } }).error.message;

describe.skipIf(!program)("the engine of ONNX models", () => {
	describe("with models that fit into the memory", () => {
		let engine: OnnxEngine;
		beforeAll(async () => {
			engine = await startOnnxEngine({});
			const broken = {
				...sentimentModel(),
				"onnx/model.onnx": sentimentModel()["onnx/model.onnx"]?.slice(0, 300) ?? "",
			};
			await engine.setModels([
				modelAt(folder, "bge-small-en-v1.5", "embeddings", embeddingModel()),
				modelAt(folder, "bge-reranker-base", "reranking", rerankerModel()),
				modelAt(folder, "distilbert-sst-2", "text-classification", sentimentModel()),
				modelAt(folder, "broken", "text-classification", broken),
				modelAt(folder, "endless", "summarization", endlessModel()),
				modelAt(folder, "resnet-50", "image-classification", imageModel()),
				{ ...modelAt(folder, "voice", "text-to-speech", voiceModel()), language: "en" },
				{ ...modelAt(folder, "large", "summarization", summaryModel()), memory: 1e12 },
			]);
		});
		afterAll(() => engine.stop());

		it("is alive, and ready with its models", async () => {
			expect(JSON.parse(await engine.get("/health"))).toEqual({ status: "ok" });
			expect(JSON.parse(await engine.get("/ready"))).toEqual({ models: 8, loading: [] });
		});

		it("embeds in OpenAI's form and in that of Text Embeddings Inference", async () => {
			const openai = await engine.post("/v1/embeddings", { model: "bge-small-en-v1.5", input: TEXTS });
			expect(openai).toMatchObject({ status: 200, json: { object: "list", model: "bge-small-en-v1.5" } });
			for (const [at, vector] of vectorsOf(openai.json).entries())
				isNear(vector, embeddingOf(TEXTS[at] ?? ""));
			const tokens = TEXTS.reduce((sum, text) => sum + idsOf(text).length, 0);
			expect(openai.json).toMatchObject({ usage: { prompt_tokens: tokens, total_tokens: tokens } });
			const cls = await engine.post("/v1/embeddings", {
				...{ model: "bge-small-en-v1.5", input: "good cat", pooling: "cls", encoding_format: "base64" },
			});
			const text = (cls.json as { data: { embedding: string }[] }).data[0]?.embedding ?? "";
			isNear(
				Array.from(new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer)),
				embeddingOf("good cat", "cls"),
			);
			const tei = await engine.post("/embed", { inputs: TEXTS });
			expect(tei.status).toBe(200);
			for (const [at, vector] of (tei.json as number[][]).entries())
				isNear(vector, embeddingOf(TEXTS[at] ?? ""));
		});

		it("truncates a text that is too long, or refuses it alone", async () => {
			const long = Array.from({ length: 40 }, () => "cat").join(" ");
			const body = { model: "bge-small-en-v1.5", input: [long] };
			expect((await engine.post("/v1/embeddings", body)).status).toBe(200);
			const [refused, others] = await Promise.all([
				engine.post("/v1/embeddings", { ...body, truncate: false }),
				engine.post("/v1/embeddings", { ...body, input: TEXTS }),
			]);
			expect(refused).toMatchObject({ status: 400, json: { error: { code: "invalid_input" } } });
			expect(messageOf(refused.json)).toBe("Sequence too long: 42 > 16");
			expect(others.status).toBe(200);
		});

		it("ranks and classifies", async () => {
			const documents = ["good cat", "bad", "moon"];
			const ranked = await engine.post("/v1/rerank", { model: "bge-reranker-base", query: "sun", documents });
			const { results } = ranked.json as { results: { index: number; relevance_score: number }[] };
			for (const { index, relevance_score } of results)
				expect(relevance_score).toBeCloseTo(logitOf("sun", documents[index] ?? ""), 5);
			const scores = results.map(({ relevance_score }) => relevance_score);
			expect(scores).toEqual([...scores].sort((a, b) => b - a));
			const tei = await engine.post("/rerank", { query: "sun", texts: documents });
			for (const { index, score } of tei.json as { index: number; score: number }[])
				expect(score).toBeCloseTo(1 / (1 + Math.exp(-logitOf("sun", documents[index] ?? ""))), 5);
			const labels = await engine.post("/predict", { model: "distilbert-sst-2", inputs: "good cat" });
			const [negative = 0, positive = 0] = labelScoresOf("good cat");
			expect(labels.json).toEqual([
				{ label: "POSITIVE", score: expect.closeTo(positive, 5) },
				{ label: "NEGATIVE", score: expect.closeTo(negative, 5) },
			]);
		});

		it("speaks: a WAV file, samples for OpenAI's pcm, and an MP3 file", async () => {
			const speech = (body: object) =>
				engine.postForBytes("/v1/audio/speech", { model: "voice", input: "A b", ...body });
			const wav = await speech({ response_format: "wav", language: "en-GB" });
			const expected = samplesOf("a b").map((sample) => sample * 32_767);
			expect([wav.status, wav.type, wav.bytes.toString("latin1", 0, 4), wav.bytes.readUInt32LE(24)]).toEqual([
				...[200, "audio/wav", "RIFF", VOICE_RATE],
			]);
			const samples = new Int16Array(Uint8Array.from(wav.bytes.subarray(44)).buffer);
			expect(samples).toHaveLength(expected.length);
			for (const [at, sample] of samples.entries())
				expect(Math.abs(sample - (expected[at] ?? 0))).toBeLessThanOrEqual(1);
			const pcm = await speech({ response_format: "pcm" });
			expect([pcm.type, pcm.bytes.length / 2]).toEqual([
				"audio/pcm",
				(expected.length * 24_000) / VOICE_RATE,
			]);
			// Long enough for several parts, which follow each other.
			const sentence = `${"ab ".repeat(60)}.`;
			const long = await speech({ input: sentence.repeat(5), response_format: "wav", sample_rate: 16_000 });
			expect(long.bytes.length).toBeGreaterThan(5 * 2 * samplesOf("ab ".repeat(60)).length * 0.95);
			const mp3 = await speech({ input: sentence });
			expect([mp3.status, mp3.type]).toEqual([200, "audio/mpeg"]);
			// MPEG 2, layer III, 16 kHz, one channel: 64 kilobits a second.
			expect(mp3.bytes.readUInt16BE(0) & 0xfffe).toBe(0xfff2);
			expect((mp3.bytes.readUInt8(2) >> 2) & 3).toBe(2);
			expect(mp3.bytes.readUInt8(3) >> 6).toBe(3);
			const seconds = samplesOf("ab ".repeat(60)).length / VOICE_RATE;
			expect((mp3.bytes.length * 8) / 64_000).toBeCloseTo(seconds, 0);
		});

		it("runs requests that wait together", async () => {
			const body = { model: "bge-small-en-v1.5", input: "good cat" };
			await engine.post("/v1/embeddings", body);
			const batches = async () =>
				Number(/batches_total\{model="bge-small-en-v1.5"\} (\d+)/.exec(await engine.get("/metrics"))?.[1]);
			const before = await batches();
			const state = async () => (await engine.models()).find(({ name }) => name === body.model);
			const pid = (await state())?.pid ?? 0;
			process.kill(pid, "SIGSTOP");
			const sent = Array.from({ length: 200 }, () => engine.post("/v1/embeddings", body));
			try {
				await expect.poll(async () => (await state())?.waiting, { timeout: 20_000 }).toBe(200);
			} finally {
				process.kill(pid, "SIGCONT");
			}
			for (const { json } of await Promise.all(sent))
				isNear(vectorsOf(json)[0] ?? [], embeddingOf("good cat"));
			// The first request begins at once, and the others run together, 64 at a time.
			expect((await batches()) - before).toBe(5);
			// Of the time between two readings.
			expect(await engine.get("/metrics")).toMatch(
				/^ganglion_engine_loop_delay_seconds\{quantile="0\.99"\} [\d.e-]+$/m,
			);
		});

		it("loses no request when the process of a model is killed", async () => {
			const answers = Array.from({ length: 300 }, (_, at) =>
				engine.post("/v1/embeddings", { model: "bge-small-en-v1.5", input: TEXTS[at % TEXTS.length] }),
			);
			await answers[0];
			const pid = (await engine.models()).find(({ name }) => name === "bge-small-en-v1.5")?.pid;
			process.kill(pid ?? 0, "SIGKILL");
			for (const [at, answer] of (await Promise.all(answers)).entries()) {
				expect(answer.status).toBe(200);
				isNear(vectorsOf(answer.json)[0] ?? [], embeddingOf(TEXTS[at % TEXTS.length] ?? ""));
			}
			expect((await engine.post("/embed", { inputs: "bad" })).status).toBe(200);
		});

		it("ends a generation whose caller leaves", async () => {
			const leaving = new AbortController();
			const body = { model: "endless", text: "good cat", max_length: 1_000_000 };
			const answer = engine.post("/v1/summarize", body, leaving.signal);
			const waiting = async () => (await engine.models()).find(({ name }) => name === "endless")?.waiting;
			await expect.poll(waiting).toBe(1);
			await expect
				.poll(async () => (await engine.models()).find(({ name }) => name === "endless")?.state)
				.toBe("loaded");
			leaving.abort();
			await expect(answer).rejects.toThrow();
			await expect.poll(waiting).toBe(0);
			const next = await engine.post("/v1/summarize", { ...body, max_length: 3 });
			expect(next).toMatchObject({ status: 200, json: { summary: "chat chat chat" } });
		});

		it.each([
			[
				"a file that is no model",
				"/predict",
				{ model: "broken", inputs: "a" },
				500,
				/^broken cannot be loaded: check its files with `npx ganglion models pull broken`/,
			],
			[
				"a model that is too large",
				"/v1/summarize",
				{ model: "large", text: "a" },
				507,
				/^large needs about 1000000 MB of memory, and models have 10 MB: use a smaller model$/,
			],
			[
				"an unknown model",
				"/v1/embeddings",
				{ model: "gpt-6-astra", input: "a" },
				404,
				/^The engine has no model 'gpt-6-astra'$/,
			],
			[
				"a model of another task",
				"/v1/embeddings",
				{ model: "resnet-50", input: "a" },
				501,
				/^resnet-50 has the task image-classification, not embeddings$/,
			],
			[
				"no model where several have the task",
				"/predict",
				{ inputs: "a" },
				400,
				/^model: expected a name, because 2 models have this task$/,
			],
			[
				"no text",
				"/v1/embeddings",
				{ model: "bge-small-en-v1.5" },
				400,
				/^input: expected a text, or a list of texts$/,
			],
			[
				"a text that is a number",
				"/predict",
				{ model: "distilbert-sst-2", inputs: 5 },
				400,
				/^inputs: expected a text$/,
			],
			[
				"an image that is none",
				"/v1/classify-image",
				{ model: "resnet-50", image: "AAAA" },
				400,
				/^The image cannot be decoded/,
			],
			[
				"an image that is no base64",
				"/v1/classify-image",
				{ model: "resnet-50", image: "%" },
				400,
				/^image: expected a file, or its base64$/,
			],
			[
				"another pooling",
				"/v1/embeddings",
				{ model: "bge-small-en-v1.5", input: "a", pooling: "max" },
				400,
				/^pooling: expected mean or cls$/,
			],
			[
				"a language that the model does not speak",
				"/v1/audio/speech",
				{ model: "voice", input: "a", language: "fr" },
				400,
				/^language: the model speaks 'en', not 'fr'$/,
			],
			[
				"a text without a sound",
				"/v1/audio/speech",
				{ model: "voice", input: "你好" },
				400,
				/^input: the model knows no sign of the text$/,
			],
			[
				"a sound file of another kind",
				"/v1/audio/speech",
				{ model: "voice", input: "a", response_format: "flac" },
				400,
				/^response_format: expected mp3 or wav or pcm$/,
			],
			[
				"another speed",
				"/v1/audio/speech",
				{ model: "voice", input: "a", speed: 2 },
				400,
				/^speed: the model has one speed, 1$/,
			],
			["a list", "/v1/embeddings", [], 400, /^The body must be a JSON object$/],
			["another address", "/v1/chat/completions", {}, 501, /^The engine has no such address$/],
		])("names the cure for %s, and serves on", async (_, path, body, status, message) => {
			const answer = await engine.post(path, body);
			expect([answer.status, messageOf(answer.json)]).toEqual([status, expect.stringMatching(message)]);
			expect((await engine.post("/embed", { inputs: "bad" })).status).toBe(200);
		});
	});

	describe("with less memory than models", () => {
		let engine: OnnxEngine;

		it("unloads the model that was used the longest time ago, and answers every request", async () => {
			engine = await startOnnxEngine({ room: 2, turnMs: 0 });
			onTestFinished(() => engine.stop());
			const names = ["first", "second", "third"];
			await engine.setModels(names.map((name) => modelAt(folder, name, "embeddings", embeddingModel())));
			const load = (model: string) => engine.post("/v1/embeddings", { model, input: "sun" });
			for (const name of names) expect((await load(name)).status).toBe(200);
			const states = async () => (await engine.models()).map(({ state }) => state);
			expect(await states()).toEqual(["unloaded", "loaded", "loaded"]);
			const answers = await Promise.all(Array.from({ length: 90 }, (_, at) => load(names[at % 3] ?? "")));
			for (const { json } of answers) isNear(vectorsOf(json)[0] ?? [], embeddingOf("sun"));
			expect((await states()).filter((state) => state === "loaded")).toHaveLength(2);
			expect(await engine.get("/metrics")).toMatch(/evictions_total\{model="first"\} [1-9]/);
		});

		interface Phase {
			engine: OnnxEngine;
			/** A request that runs, if the phase has one. */
			answer?: Promise<{ status: number; json: unknown }>;
		}
		const generate = () =>
			engine.post("/v1/summarize", { model: "endless", text: "good cat", max_length: 1_500 });
		const stateOf = async (name: string) => (await engine.models()).find((row) => row.name === name);
		const reaches = (name: string, state: string) =>
			expect.poll(async () => (await stateOf(name))?.state, { interval: 5 }).toBe(state);
		/** The process of a model is in the phase when the function ends. */
		const PHASES: Readonly<Record<string, () => Promise<Omit<Phase, "engine">>>> = {
			async load() {
				const answer = generate();
				await reaches("endless", "loading");
				return { answer };
			},
			async "first run"() {
				const answer = generate();
				await reaches("endless", "loaded");
				return { answer };
			},
			async "later run"() {
				await engine.post("/v1/summarize", { model: "endless", text: "cat", max_length: 2 });
				const answer = generate();
				await expect.poll(async () => (await stateOf("endless"))?.waiting).toBe(1);
				return { answer };
			},
			async idle() {
				await engine.post("/v1/summarize", { model: "endless", text: "cat", max_length: 2 });
				return {};
			},
		};
		const start = async () => {
			engine = await startOnnxEngine({});
			await engine.setModels([
				modelAt(folder, "endless", "summarization", endlessModel()),
				modelAt(folder, "other", "embeddings", embeddingModel()),
			]);
			await engine.post("/embed", { inputs: "sun" });
		};
		const pids = async () => (await engine.models()).flatMap(({ pid }) => pid ?? []);
		const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}/exe`);

		it.each(
			Object.keys(PHASES).flatMap((phase) => (["SIGTERM", "SIGKILL"] as const).map((name) => [phase, name])),
		)("leaves no process and no port if the server ends: %s, %s", async (phase, name) => {
			await start();
			onTestFinished(() => engine.stop());
			const { answer } = (await PHASES[phase]?.()) ?? {};
			const left = answer?.catch(() => {});
			const children = await pids();
			expect(children).toHaveLength(2);
			engine.stop(name as NodeJS.Signals);
			await expect.poll(() => children.filter(isRunning), { timeout: 5_000 }).toEqual([]);
			await left;
			// Another test may try the port for a moment.
			await expect.poll(() => isFree(engine.port), { timeout: 5_000 }).toBe(true);
		});

		it("ends a process that is stuck, and says so", async () => {
			engine = await startOnnxEngine({ stuckMs: 1_000 });
			onTestFinished(() => engine.stop());
			await engine.setModels([modelAt(folder, "stuck", "embeddings", embeddingModel())]);
			expect((await engine.post("/embed", { inputs: "sun" })).status).toBe(200);
			process.kill((await engine.models())[0]?.pid ?? 0, "SIGSTOP");
			const answer = await engine.post("/embed", { inputs: "sun" });
			expect([answer.status, messageOf(answer.json)]).toEqual([
				503,
				"the process of stuck has ended (it did not answer, and was ended)",
			]);
			expect((await engine.post("/embed", { inputs: "sun" })).status).toBe(200);
			expect(await engine.get("/metrics")).toContain('ends_total{model="stuck",reason="stuck"} 1');
		});

		// These end no server, so they have one.
		describe("and one server", () => {
			beforeAll(start);
			afterAll(() => engine.stop());

			it.each(Object.keys(PHASES))(
				"answers every request if the process of a model is killed: %s",
				async (phase) => {
					// The phases begin without a process of the model.
					await engine.post("/models/unload", { model: "endless" });
					// The command does not wait for the end of the process.
					await reaches("endless", "unloaded");
					const { answer } = (await PHASES[phase]?.()) ?? {};
					const pid = (await stateOf("endless"))?.pid ?? 0;
					expect(isRunning(pid)).toBe(true);
					const others = Array.from({ length: 20 }, () => engine.post("/embed", { inputs: "sun" }));
					process.kill(pid, "SIGKILL");
					for (const other of await Promise.all(others))
						isNear((other.json as number[][])[0] ?? [], embeddingOf("sun"));
					if (answer) expect((await answer).status).toBe(200);
					const next = await engine.post("/v1/summarize", { model: "endless", text: "cat", max_length: 3 });
					expect(next).toMatchObject({ status: 200, json: { summary: "chat chat chat" } });
					expect(isRunning(pid)).toBe(false);
				},
			);

			it("unloads a model by command, and loads it again", async () => {
				const { pid = 0 } = (await stateOf("other")) ?? {};
				expect((await engine.post("/models/unload", { model: "other" })).status).toBe(200);
				const next = await engine.post("/embed", { inputs: "sun" });
				isNear((next.json as number[][])[0] ?? [], embeddingOf("sun"));
				expect((await stateOf("other"))?.pid).not.toBe(pid);
			});
		});
	});
});
