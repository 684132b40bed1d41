/**
 * The routes of the engine. OpenAI's and Jina's forms name the model in the body, and so do the forms of tasks that no such API has; those of
 * Text Embeddings Inference (https://huggingface.github.io/text-embeddings-inference) may leave it out if one model has the task.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Context, Hono } from "hono";
import { EngineFailure } from "./failure.ts";
import { faultOf, loggedFault } from "./fault.ts";
import { bytesOf, choiceOf, flagOf, numberOf, readBody, textOf, textsOf } from "./fields.ts";
import type { Metrics } from "./metrics.ts";
import { type EngineModel, type EngineTask, type Item, type Result, SOUND_FORMATS, TASKS } from "./model.ts";
import type { ModelPool } from "./pool.ts";
import { samplesOf } from "./sound.ts";
import { Turns } from "./turns.ts";

interface AppOptions {
	pool: ModelPool;
	metrics: Metrics;
	key: string;
}

type Body = Record<string, unknown>;

/** What a form asks of a model, and its answer. */
interface Form {
	task: EngineTask;
	items(body: Body): Item[] | Promise<Item[]>;
	answer(results: Result[], body: Body, model: string): unknown;
}

/** About ten minutes. */
const MAX_SPOKEN_CHARACTERS = 10_000;
/** Those of MP3. */
const SAMPLE_RATES = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const POOLINGS = ["mean", "cls"] as const;

const numbersOf = (vector: Float32Array | undefined): number[] => Array.from(vector ?? []);
const base64 = (vector: Float32Array | undefined): string =>
	Buffer.from(Float32Array.from(vector ?? []).buffer).toString("base64");
const sumOf = (results: readonly Result[], field: "inputTokens" | "outputTokens"): number =>
	results.reduce((sum, result) => sum + (result[field] ?? 0), 0);
const usageOf = (results: readonly Result[]) => {
	const [prompt_tokens, completion_tokens] = [sumOf(results, "inputTokens"), sumOf(results, "outputTokens")];
	return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
};
const byScore = <Row extends { score: number }>(rows: Row[]): Row[] => rows.sort((a, b) => b.score - a.score);
const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
const ranksOf = (results: readonly Result[]) =>
	byScore(results.map(({ score = 0 }, index) => ({ index, score })));

const transcription = (translates: boolean): Form => ({
	task: "speech-recognition",
	items: async (body) => [
		{
			samples: await samplesOf(await bytesOf(body, "file")),
			translates,
			...optional("language", textOf(body, "language", { required: false })),
		},
	],
	answer([result = {}], body) {
		const { text = "", segments = [] } = result;
		if (body.response_format !== "verbose_json") return { text };
		const duration = Math.max(0, ...segments.map(({ end }) => end));
		return { task: translates ? "translate" : "transcribe", text, segments, duration };
	},
});

const optional = <Value>(name: string, value: Value | undefined): Record<string, Value> =>
	value === undefined ? {} : { [name]: value };

const FORMS: Readonly<Record<string, Form>> = {
	"/v1/embeddings": {
		task: "embeddings",
		items: (body) =>
			textsOf(body, "input").map((text) => ({
				...{ text, truncate: body.truncate !== false },
				...optional("pooling", choiceOf(body, "pooling", POOLINGS)),
			})),
		answer: (results, body, model) => ({
			...{ object: "list", model, usage: usageOf(results) },
			data: results.map(({ vector }, index) => ({
				...{ object: "embedding", index },
				embedding: body.encoding_format === "base64" ? base64(vector) : numbersOf(vector),
			})),
		}),
	},
	"/embed": {
		task: "embeddings",
		items: (body) =>
			textsOf(body, "inputs").map((text) => ({
				...{
					text,
					truncate: flagOf(body, "truncate") ?? false,
					normalize: flagOf(body, "normalize") ?? true,
				},
			})),
		answer: (results) => results.map(({ vector }) => numbersOf(vector)),
	},
	"/v1/rerank": {
		task: "reranking",
		items(body) {
			const query = textOf(body, "query");
			return textsOf(body, "documents").map((text) => ({ query, text }));
		},
		answer: (results, body, model) => ({
			...{ model, usage: usageOf(results) },
			results: ranksOf(results)
				.slice(0, numberOf(body, "top_n") ?? results.length)
				.map(({ index, score }) => ({ index, relevance_score: score })),
		}),
	},
	"/rerank": {
		task: "reranking",
		items(body) {
			const query = textOf(body, "query");
			return textsOf(body, "texts").map((text) => ({ query, text }));
		},
		answer: (results, body) =>
			ranksOf(results).map(({ index, score }) => ({
				index,
				score: body.raw_scores === true ? score : sigmoid(score),
			})),
	},
	"/predict": {
		task: "text-classification",
		items: (body) => [{ text: textOf(body, "inputs") }],
		answer: ([result]) => result?.labels,
	},
	"/v1/translate": {
		task: "translation",
		items: (body) =>
			textsOf(body, "texts").map((text) => ({
				...{ text, language: textOf(body, "source_lang"), target: textOf(body, "target_lang") },
			})),
		answer: (results) => ({ texts: results.map(({ text }) => text), usage: usageOf(results) }),
	},
	"/v1/summarize": {
		task: "summarization",
		items: (body) => [{ text: textOf(body, "text"), ...optional("maxTokens", numberOf(body, "max_length")) }],
		answer: (results) => ({ summary: results[0]?.text, usage: usageOf(results) }),
	},
	"/v1/classify-image": {
		task: "image-classification",
		items: async (body) => [{ bytes: await bytesOf(body, "image") }],
		answer: ([result]) => ({ labels: result?.labels }),
	},
	"/v1/detect-objects": {
		task: "object-detection",
		items: async (body) => [
			{ bytes: await bytesOf(body, "image"), ...optional("threshold", numberOf(body, "threshold")) },
		],
		answer: ([{ objects, width, height } = {}]) => ({ objects, width, height }),
	},
	"/v1/audio/speech": {
		task: "text-to-speech",
		items(body) {
			const { speed = 1 } = body;
			if (speed !== 1) throw new EngineFailure("invalid_input", "speed: the model has one speed, 1");
			const text = textOf(body, "input");
			if (text.length > MAX_SPOKEN_CHARACTERS)
				throw new EngineFailure(
					"invalid_input",
					`input: expected at most ${MAX_SPOKEN_CHARACTERS} characters`,
				);
			return [
				{
					text,
					format: choiceOf(body, "response_format", SOUND_FORMATS) ?? "mp3",
					...optional("language", textOf(body, "language", { required: false })),
					...optional("sampleRate", choiceOf(body, "sample_rate", SAMPLE_RATES)),
				},
			];
		},
		answer([{ bytes = new Uint8Array() } = {}], { response_format = "mp3" }) {
			const type = response_format === "mp3" ? "mpeg" : String(response_format);
			return new Response(Uint8Array.from(bytes), { headers: { "content-type": `audio/${type}` } });
		},
	},
	"/v1/audio/transcriptions": transcription(false),
	"/v1/audio/translations": transcription(true),
};

/** Of the server of Node. */
interface Served {
	Bindings: { incoming: IncomingMessage; outgoing: ServerResponse };
}

export function createApp({ pool, metrics, key }: AppOptions): Hono<Served> {
	const app = new Hono<Served>();
	app.onError((error, c) => {
		const failure = error instanceof EngineFailure ? error : loggedFault(faultOf(error));
		return Response.json(failure.body, {
			status: failure.status === 499 ? 400 : failure.status,
			headers: c.res.headers,
		});
	});
	app.get("/health", (c) => c.json({ status: "ok" }));
	const expected = Buffer.from(`Bearer ${key}`);
	app.use(async (c, next) => {
		const sent = Buffer.from(c.req.header("authorization") ?? "");
		if (sent.length === expected.length && timingSafeEqual(sent, expected)) return next();
		return c.json({ error: { message: "The key is wrong", code: "invalid_api_key" } }, 401);
	});
	app.get("/ready", (c) => {
		const models = pool.status();
		const loading = models.filter(({ state }) => state === "loading").map(({ name }) => name);
		return c.json({ models: models.length, loading }, models.length > 0 ? 200 : 503);
	});
	app.get("/metrics", (c) =>
		c.text(metrics.text(pool.status().map(({ state, ...row }) => ({ ...row, loaded: state === "loaded" })))),
	);
	app.get("/models", (c) => c.json({ data: pool.status() }));
	app.put("/models", async (c) => {
		pool.setModels(modelsOf(await readBody(c.env.incoming, c.req.raw)));
		return c.json({ data: pool.status() });
	});
	app.post("/models/load", async (c) => {
		await pool.load(textOf(await readBody(c.env.incoming, c.req.raw), "model"));
		return c.json({ success: true });
	});
	app.post("/models/unload", async (c) => {
		pool.unload(textOf(await readBody(c.env.incoming, c.req.raw), "model"));
		return c.json({ success: true });
	});
	const turns = new Turns();
	for (const [path, form] of Object.entries(FORMS))
		app.post(path, (c) => answerForm(c, form, { pool, turns }));
	app.notFound((c) =>
		c.json(new EngineFailure("task_unsupported", "The engine has no such address").body, 501),
	);
	return app;
}

async function answerForm(
	c: Context<Served>,
	{ task, items, answer }: Form,
	{ pool, turns }: { pool: ModelPool; turns: Turns },
): Promise<Response> {
	await turns.next();
	const body = await readBody(c.env.incoming, c.req.raw);
	const name = textOf(body, "model", { required: false });
	const { model, results } = await pool.run(name, task, await items(body), leavingOf(c));
	// The texts of a batch are answered at the same time.
	await turns.next();
	const answered = answer(results, body, model);
	return answered instanceof Response ? answered : c.json(answered as object);
}

/** Aborted when the caller leaves before the end of the answer. */
function leavingOf({ env: { outgoing } }: Context<Served>): AbortSignal {
	const leaving = new AbortController();
	const leave = (): void => {
		if (!outgoing.writableFinished) leaving.abort();
	};
	if (outgoing.destroyed) leave();
	else outgoing.once("close", leave);
	return leaving.signal;
}

/** The body is that of the process that has started this one. */
function modelsOf({ models }: Body): EngineModel[] {
	if (!Array.isArray(models)) throw new EngineFailure("invalid_input", "models: expected a list");
	return models.filter(({ task }: EngineModel) => TASKS.includes(task));
}
