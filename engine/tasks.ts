/** Runs items of a task with transformers.js, in the process of a model. */
import { basename, dirname } from "node:path";
import {
	env,
	InterruptableStoppingCriteria,
	type Pipeline,
	pipeline,
	RawImage,
	type Tensors,
} from "@huggingface/transformers";
import { ItemRefusal } from "./failure.ts";
import type { DetectedBox, EngineModel, EngineTask, Item, Label, Result } from "./model.ts";
import { logitsOf, meanOf, rowOf, sigmoid, softmax, toUnitLength } from "./numbers.ts";
import type { Run, RunContext } from "./run.ts";
import { speak } from "./speech.ts";

/** Names of the library. */
const PIPELINES: Readonly<Record<EngineTask, string>> = {
	embeddings: "feature-extraction",
	reranking: "text-classification",
	"text-classification": "text-classification",
	"image-classification": "image-classification",
	"object-detection": "object-detection",
	translation: "translation",
	summarization: "summarization",
	"speech-recognition": "automatic-speech-recognition",
	"text-to-speech": "text-to-speech",
};

/** Of a classification of an image. */
const MAX_LABELS = 5;
const THRESHOLD = 0.5;
const SAMPLE_RATE = 16_000;
/** Longer recordings are divided into overlapping parts of this length, which is that of Whisper's input. */
const PART_SECONDS = 30;

export interface LoadedModel {
	run(items: Item[], context: RunContext): Promise<Result[]>;
}

export async function loadModel(
	model: EngineModel,
	threads: number,
	progress: (part: number) => void,
): Promise<LoadedModel> {
	env.allowRemoteModels = false;
	env.localModelPath = dirname(model.folder);
	const loaded = await pipeline(PIPELINES[model.task], basename(model.folder), {
		...{ local_files_only: true, dtype: model.dtype, device: "cpu" },
		session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
		progress_callback(event: { status: string; progress?: number }) {
			if (event.status === "progress" && event.progress !== undefined) progress(event.progress / 100);
		},
	});
	const run = RUNNERS[model.task];
	return { run: (items, context) => run({ loaded, model, context }, items) };
}

type Runner = (run: Run, items: Item[]) => Promise<Result[]>;

const textsOf = (items: readonly Item[]): string[] => items.map(({ text = "" }) => text);

/** Tokens of each row, without padding. */
function tokenCounts({ attention_mask: mask, input_ids: ids }: Tensors): number[] {
	const [rows = 0, columns = 0] = ids?.dims ?? [];
	const isText = mask?.data;
	return Array.from({ length: rows }, (_, row) => {
		let count = 0;
		for (let column = 0; column < columns; column++) count += Number(isText?.[row * columns + column] ?? 1);
		return count;
	});
}

const maxTokensOf = ({ tokenizer, model }: Pipeline): number =>
	Math.min(tokenizer.model_max_length || Infinity, model.config.max_position_embeddings ?? Infinity);

async function embed(run: Run, items: Item[]): Promise<Result[]> {
	const { loaded, model } = run;
	const limit = maxTokensOf(loaded);
	const strict = items.some(({ truncate }) => truncate === false);
	const refusals = new Map<number, string>();
	if (strict) {
		const counts = items.map((item) => tokenCounts(loaded.tokenizer(textsOf([item]), {}))[0] ?? 0);
		for (const [index, count] of counts.entries())
			if (items[index]?.truncate === false && count > limit)
				refusals.set(index, `Sequence too long: ${count} > ${limit}`);
	}
	const inputs = loaded.tokenizer(textsOf(items), { padding: true, truncation: true });
	const outputs = await loaded.model(inputs);
	const hidden = outputs.last_hidden_state ?? outputs.token_embeddings ?? outputs.logits;
	if (!hidden) throw new Error("the model has no hidden state");
	const counts = tokenCounts(inputs);
	return items.map(({ pooling = model.pooling ?? "mean", normalize = true }, row) => {
		const refusal = refusals.get(row);
		if (refusal !== undefined) return { refusal };
		const vector = pooling === "cls" ? rowOf(hidden, row, 0) : meanOf(hidden, inputs.attention_mask, row);
		return { vector: normalize ? toUnitLength(vector) : vector, inputTokens: counts[row] ?? 0 };
	});
}

async function rank({ loaded }: Run, items: Item[]): Promise<Result[]> {
	const inputs = loaded.tokenizer(
		items.map(({ query = "" }) => query),
		{ text_pair: textsOf(items), padding: true, truncation: true },
	);
	const { values, width } = logitsOf(await loaded.model(inputs), items.length);
	const counts = tokenCounts(inputs);
	return items.map((_, row) => ({
		score: Number(values[row * width + width - 1]),
		inputTokens: counts[row] ?? 0,
	}));
}

async function classify({ loaded }: Run, items: Item[]): Promise<Result[]> {
	const inputs = loaded.tokenizer(textsOf(items), { padding: true, truncation: true });
	const { values, width } = logitsOf(await loaded.model(inputs), items.length);
	const counts = tokenCounts(inputs);
	const { id2label = {}, problem_type } = loaded.model.config;
	return items.map((_, row) => {
		const logits = Array.from({ length: width }, (__, at) => Number(values[row * width + at]));
		const scores = problem_type === "multi_label_classification" ? logits.map(sigmoid) : softmax(logits);
		const labels = scores.map((score, at): Label => ({ label: id2label[at] ?? `LABEL_${at}`, score }));
		return { labels: labels.sort((a, b) => b.score - a.score), inputTokens: counts[row] ?? 0 };
	});
}

/** One item after the other. A refusal of one leaves the others. */
const each =
	(one: (run: Run, item: Item) => Promise<Result>): Runner =>
	async (run, items) => {
		const results: Result[] = [];
		for (const item of items)
			try {
				results.push(await one(run, item));
			} catch (error) {
				if (!(error instanceof ItemRefusal)) throw error;
				results.push({ refusal: error.message });
			}
		return results;
	};

async function imageOf({ bytes = new Uint8Array() }: Item): Promise<RawImage> {
	try {
		return (await RawImage.fromBlob(new Blob([Uint8Array.from(bytes)]))).rgb();
	} catch {
		throw new ItemRefusal("The image cannot be decoded: expected a JPEG, PNG, WebP, GIF or AVIF file");
	}
}

const classifyImage = each(async ({ loaded }, item) => {
	const image = await imageOf(item);
	return { labels: (await loaded(image, { top_k: MAX_LABELS })) as Label[] };
});

const detect = each(async ({ loaded }, item) => {
	const image = await imageOf(item);
	const { width, height } = image;
	const objects = (await loaded(image, { threshold: item.threshold ?? THRESHOLD })) as DetectedBox[];
	return { objects: objects.sort((a, b) => b.score - a.score), width, height };
});

/** Options of a generation, and its count of tokens. */
function generation({ token, onCancel }: RunContext, maxTokens: number | undefined) {
	const criteria = new InterruptableStoppingCriteria();
	onCancel(() => criteria.interrupt());
	let puts = 0;
	return {
		options: {
			stopping_criteria: [criteria],
			...(maxTokens !== undefined && { max_new_tokens: maxTokens }),
			streamer: {
				put() {
					puts += 1;
					token();
				},
				end() {},
			},
		},
		/** The first call has the beginning of the text. */
		tokens: (): number => Math.max(0, puts - 1),
	};
}

const translate = each(async ({ loaded, context }, { text = "", language = "", target = "", maxTokens }) => {
	const { options, tokens } = generation(context, maxTokens);
	const languages = {
		src_lang: languageCode(loaded, language, "source_lang"),
		tgt_lang: languageCode(loaded, target, "target_lang"),
	};
	const [inputTokens = 0] = tokenCounts(loaded.tokenizer([text], {}));
	const [first] = (await loaded(text, { ...options, ...languages })) as { translation_text: string }[];
	return { text: first?.translation_text ?? "", inputTokens, outputTokens: tokens() };
});

/** The model's code of a language: by the code, or by its English name. */
function languageCode(
	{ tokenizer: { language_codes = [] } }: Pipeline,
	language: string,
	field: string,
): string {
	const codes = language_codes.map((token) => token.replaceAll(/^_+|_+$/g, ""));
	const wanted = language.toLowerCase();
	const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
	const nameOf = (code: string): string | undefined => {
		try {
			return names.of(code.replaceAll("_", "-"))?.toLowerCase();
		} catch {
			return undefined;
		}
	};
	const found =
		codes.find((code) => code.toLowerCase() === wanted) ??
		codes.find((code) => nameOf(code) === wanted) ??
		codes.find((code) => code.toLowerCase() === wanted.split(/[-_]/)[0]);
	if (found !== undefined) return found;
	throw new ItemRefusal(`${field}: the model has no language '${language.slice(0, 40)}'`);
}

const summarize = each(async ({ loaded, context }, { text = "", maxTokens }) => {
	const { options, tokens } = generation(context, maxTokens);
	const [inputTokens = 0] = tokenCounts(loaded.tokenizer([text], { truncation: true }));
	const [first] = (await loaded(text, options)) as { summary_text: string }[];
	return { text: first?.summary_text ?? "", inputTokens, outputTokens: tokens() };
});

interface Transcription {
	text: string;
	chunks?: { text: string; timestamp: [number | null, number | null] }[];
}

const transcribe = each(async ({ loaded, context }, item) => {
	const { samples = new Float32Array(), language, translates } = item;
	const { options, tokens } = generation(context, item.maxTokens);
	const seconds = samples.length / SAMPLE_RATE;
	const isMultilingual = loaded.model.generation_config?.is_multilingual !== false;
	if (!isMultilingual && translates) throw new ItemRefusal("task: the model knows English alone");
	const { text, chunks = [] } = (await loaded(samples, {
		...options,
		return_timestamps: true,
		...(seconds > PART_SECONDS && { chunk_length_s: PART_SECONDS }),
		...(isMultilingual && { task: translates ? "translate" : "transcribe", ...(language && { language }) }),
	}).catch((error: unknown) => {
		if (error instanceof Error && /^Language "/.test(error.message))
			throw new ItemRefusal(`language: the model has no language '${language?.slice(0, 40)}'`);
		throw error;
	})) as Transcription;
	let last = 0;
	const segments = chunks.map(({ text: words, timestamp: [start, end] }) => {
		const segment = { text: words.trim(), start: start ?? last, end: end ?? seconds };
		last = segment.end;
		return segment;
	});
	return { text: text.trim(), segments, outputTokens: tokens() };
});

const RUNNERS: Readonly<Record<EngineTask, Runner>> = {
	embeddings: embed,
	reranking: rank,
	"text-classification": classify,
	"image-classification": classifyImage,
	"object-detection": detect,
	translation: translate,
	summarization: summarize,
	"speech-recognition": transcribe,
	"text-to-speech": each(speak),
};
