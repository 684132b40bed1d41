/**
 * Text embeddings on the native routes. Known differences from the product: the async form (`{requests: […]}`) is not
 * read here; bge-m3's `response: null` and `meta` beside its vectors (observed) are not written.
 */

import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { EmbeddingsOutput } from "../../tasks/text-embeddings/types.ts";
import type { Reader, Rendered, Writer } from "../dialect.ts";
import { defaulted, perModel } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { stringifyWith } from "../stringify-with.ts";

/** Of one request (developers.cloudflare.com/workers-ai/platform/limits). */
const MAX_TEXTS = 100;

export const mostTexts = (model: Pick<Model, "input">): number =>
	inputFamily(model).embeddings?.maxTexts ?? MAX_TEXTS;

// A text may be empty: the published schemas say `minLength: 1`, the product embeds it all the same (observed).
const textOrTexts = (most: number) => z.union([z.string(), z.array(z.string()).min(1).max(most)]);
const listed = (texts: string | string[] | undefined): string[] =>
	typeof texts === "string" ? [texts] : (texts ?? []);

const Pooling = z.enum(["mean", "cls"]);
const bgeInputs = perModel((model) =>
	z.object({ text: textOrTexts(MAX_TEXTS), pooling: defaulted(model, "pooling", Pooling) }),
);
type BgeInputs = z.output<ReturnType<typeof bgeInputs>>;

const bge: Reader = {
	schema: bgeInputs,
	read: ({ text, pooling = "mean" }: BgeInputs) => ({
		task: "text-embeddings",
		// These models know 512 tokens of a text, and callers cannot say what becomes of the rest: it is cut.
		input: { texts: listed(text), pooling, truncate: true },
	}),
};

const m3Inputs = perModel((model) => {
	const truncate_inputs = defaulted(model, "truncate_inputs", z.boolean());
	return z.xor([
		z.object({
			query: z.string().min(1).optional(),
			contexts: z.array(z.object({ text: z.string().min(1) })).min(1),
			truncate_inputs,
		}),
		z.object({ text: textOrTexts(MAX_TEXTS), truncate_inputs }),
	]);
});
type M3Inputs = z.output<ReturnType<typeof m3Inputs>>;

const m3: Reader = {
	schema: m3Inputs,
	read(inputs: M3Inputs) {
		const texts =
			"contexts" in inputs
				? [...listed(inputs.query), ...inputs.contexts.map(({ text }) => text)]
				: listed(inputs.text);
		return {
			task: "text-embeddings",
			// The model's dense vectors are its first token's: there is no choice.
			input: { texts, pooling: "cls", truncate: inputs.truncate_inputs ?? false },
		};
	},
};

const PlainInputs = z.object({ text: textOrTexts(MAX_TEXTS) });
const plain: Reader = {
	schema: () => PlainInputs,
	read: ({ text }: z.output<typeof PlainInputs>) => ({
		task: "text-embeddings",
		input: { texts: listed(text) },
	}),
};

const DEFAULT_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query";
const qwen3Inputs = perModel((model) => {
	const texts = textOrTexts(mostTexts(model)).optional();
	return z.object({
		queries: texts,
		instruction: defaulted(model, "instruction", z.string()),
		documents: texts,
		text: texts,
	});
});
type Qwen3Inputs = z.output<ReturnType<typeof qwen3Inputs>>;

/** Vectors come in this order: queries, documents, text (which is another name for documents). */
const qwen3: Reader = {
	schema: qwen3Inputs,
	read({ queries, instruction = DEFAULT_INSTRUCTION, documents, text }: Qwen3Inputs) {
		const texts = [
			// As the model was trained: huggingface.co/Qwen/Qwen3-Embedding-0.6B.
			...listed(queries).map((query) => `Instruct: ${instruction}\nQuery:${query}`),
			...listed(documents),
			...listed(text),
		];
		if (texts.length === 0)
			throw new AiError(
				"badInput",
				"Error: anyOf at '/' not met: required properties at '/' are 'queries', required properties at '/' are 'documents', required properties at '/' are 'text'",
			);
		return { task: "text-embeddings", input: { texts } };
	},
};

export const embeddingsReaders = {
	"embeddings-bge": bge,
	"embeddings-m3": m3,
	"embeddings-text": plain,
	"embeddings-qwen3": qwen3,
} satisfies Partial<Record<InputShape, Reader>>;

const Vectors = z.array(z.array(z.number()));
/** `[number of vectors, length of each]` */
const Shape = z.tuple([z.int(), z.int()]);
const Usage = z.object({ prompt_tokens: z.int(), total_tokens: z.int() }).optional();
const PlainOutput = z.object({ shape: Shape, data: Vectors, usage: Usage });
const PooledOutput = z.object({ shape: Shape, data: Vectors, pooling: Pooling, usage: Usage });

/**
 * What `write` makes of the vectors. Where their JSON is at hand it becomes part of the reply's, and the numbers are
 * read for those alone who take the reply as a value, as RPC does.
 */
export function withVectors(output: EmbeddingsOutput, write: (vectors: number[][]) => object): Rendered {
	const { written } = output;
	if (written?.as !== "json") return { kind: "json", value: write(output.vectors) };
	const texts = new Map(written.rows.map((row) => [[] as number[], row]));
	return {
		kind: "json",
		get value() {
			return write(output.vectors);
		},
		text: stringifyWith(write([...texts.keys()]), texts),
	};
}

function shapeOf(output: EmbeddingsOutput): [number, number] {
	if (output.written) return [output.written.rows.length, output.written.length];
	const { vectors } = output;
	return [vectors.length, vectors[0]?.length ?? 0];
}
const usageOf = ({ usage }: EmbeddingsOutput) => usage && { usage };

const pooledWriter: Writer = {
	schema: PooledOutput,
	write(answer, { call }) {
		const output = outputValue("text-embeddings", answer);
		const pooling = (call.task === "text-embeddings" && call.input.pooling) || "mean";
		const rest = { pooling, ...usageOf(output) };
		return withVectors(
			output,
			(data) => ({ shape: shapeOf(output), data, ...rest }) satisfies z.input<typeof PooledOutput>,
		);
	},
};

const plainWriter: Writer = {
	schema: PlainOutput,
	write(answer) {
		const output = outputValue("text-embeddings", answer);
		return withVectors(
			output,
			(data) => ({ shape: shapeOf(output), data, ...usageOf(output) }) satisfies z.input<typeof PlainOutput>,
		);
	},
};

const RankedOutput = z.object({
	response: z.array(z.object({ id: z.int(), score: z.number() })),
	usage: Usage,
});
const ContextsOutput = z.object({ response: Vectors, shape: Shape, pooling: Pooling, usage: Usage });

const m3Writer: Writer = {
	schema: z.union([RankedOutput, ContextsOutput, PooledOutput]),
	write(answer, context) {
		const { inputs } = context;
		if (typeof inputs !== "object" || inputs === null || !("contexts" in inputs))
			return pooledWriter.write(answer, context);
		const output = outputValue("text-embeddings", answer);
		if ("query" in inputs && inputs.query !== undefined) {
			const value = { response: rankContexts(output.vectors), ...usageOf(output) };
			return { kind: "json", value: value satisfies z.input<typeof RankedOutput> };
		}
		const rest = { shape: shapeOf(output), pooling: "cls" as const, ...usageOf(output) };
		return withVectors(
			output,
			(response) => ({ response, ...rest }) satisfies z.input<typeof ContextsOutput>,
		);
	},
};

/** Contexts by their likeness to the query, whose vector is the first; the best first. */
function rankContexts([query = [], ...contexts]: number[][]): { id: number; score: number }[] {
	return contexts
		.map((context, id) => ({ id, score: cosine(query, context) }))
		.sort((a, b) => b.score - a.score);
}

/** -1 to 1; 0 where a vector has no direction. */
function cosine(a: number[], b: number[]): number {
	let dot = 0;
	let squareA = 0;
	let squareB = 0;
	for (const [i, x] of a.entries()) {
		const y = b[i] ?? 0;
		dot += x * y;
		squareA += x * x;
		squareB += y * y;
	}
	const lengths = Math.sqrt(squareA * squareB);
	return lengths === 0 ? 0 : dot / lengths;
}

export const embeddingsWriters = {
	embeddings: pooledWriter,
	"embeddings-m3": m3Writer,
	"embeddings-plain": plainWriter,
} satisfies Partial<Record<OutputShape, Writer>>;
