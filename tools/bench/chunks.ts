/** The chunks of the bench's engine, with the forms of usage that engines send. */

export const EVENTS = 200;
export const WORDS = Array.from({ length: EVENTS }, (_, i) => ` word${i}`);

const COUNTS = { prompt_tokens: 20, completion_tokens: EVENTS, total_tokens: 20 + EVENTS };

interface UsageShape {
	/** Continues the sentence "usage ...". */
	label: string;
	usage: object;
	/** Other fields of the chunk with the usage. */
	beside?: object;
	/** The choices of that chunk. Default: none. */
	choices?: readonly object[];
	/** All chunks have a usage. */
	isInEach?: true;
}

export const USAGE_SHAPES = {
	plain: { label: "without details", usage: COUNTS },
	// OpenAI, SGLang, vLLM with details of prompts.
	cached: {
		label: "with cached tokens",
		usage: {
			...COUNTS,
			prompt_tokens_details: { cached_tokens: 16, audio_tokens: 0 },
			completion_tokens_details: { reasoning_tokens: 0 },
		},
	},
	// vLLM without these details, or with no token from the cache.
	null: { label: "with details `null`", usage: { ...COUNTS, prompt_tokens_details: null } },
	reasoning: {
		label: "with reasoning tokens",
		usage: { ...COUNTS, completion_tokens_details: { reasoning_tokens: 120 } },
	},
	// llama.cpp.
	timings: {
		label: "with `timings`",
		usage: { ...COUNTS, prompt_tokens_details: { cached_tokens: 16 } },
		beside: { timings: { cache_n: 16, prompt_n: 4, predicted_n: EVENTS, predicted_per_second: 100.5 } },
	},
	// DeepSeek.
	hits: {
		label: "with `prompt_cache_hit_tokens`",
		usage: { ...COUNTS, prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 4 },
	},
	choices: {
		label: "in a chunk with choices",
		usage: COUNTS,
		choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
	},
	// vLLM with `continuous_usage_stats`.
	continuous: { label: "in each chunk", usage: COUNTS, isInEach: true },
} satisfies Record<string, UsageShape>;
export type UsageShapeName = keyof typeof USAGE_SHAPES;

/** The chunks of one answer of a model. */
export class Chunks {
	readonly #model: string;
	readonly #shape: UsageShape;
	readonly all: readonly Buffer[];

	constructor(model: string, shape: UsageShapeName = "plain") {
		this.#model = model;
		this.#shape = USAGE_SHAPES[shape];
		const { usage, beside, choices = [] } = this.#shape;
		this.all = [
			this.#chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]),
			...WORDS.map((word) => this.delta(word)),
			this.#chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
			this.#chunk(choices, { usage, ...beside }),
			"data: [DONE]\n\n",
		].map((text) => Buffer.from(text));
	}

	delta(content: string): string {
		return this.#chunk([{ index: 0, delta: { content }, finish_reason: null }]);
	}

	#chunk(choices: readonly object[], others?: object): string {
		const fields = others ?? (this.#shape.isInEach && { usage: COUNTS });
		return `data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1, model: this.#model, choices, ...fields })}\n\n`;
	}
}

/** A path of the engine whose streams have this form: `/usage/MODEL/1/v1/chat/completions`. The model is `keyed/cached`, for example. */
export const usagePath = (model: string, replica = 1): string => `/usage/${model}/${replica}/v1`;

const USAGE_PATH = /^\/usage\/(\w+\/(\w+))\//;

/** Finds the chunks of such a path. They are made at its first request. */
export function usageChunks(): (path: string) => Chunks | undefined {
	const made = new Map<string, Chunks>();
	return (path) => {
		const [, model = "", shape = ""] = USAGE_PATH.exec(path) ?? [];
		if (!isShape(shape)) return undefined;
		const chunks = made.get(model) ?? new Chunks(model, shape);
		made.set(model, chunks);
		return chunks;
	};
}

const isShape = (name: string): name is UsageShapeName => Object.hasOwn(USAGE_SHAPES, name);
