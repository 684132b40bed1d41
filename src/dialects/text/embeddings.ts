/**
 * Text embeddings on the native routes. Known differences from the product: the batch form (`{requests: […]}`) is not read
 * here; bge-m3's observed fields `response: null` and `meta` are not written.
 */
import * as z from "zod";
import { type InputShape, inputFamily, type OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { EmbeddingsOutput } from "../../tasks/text-embeddings/index.ts";
import type { NativeWriter, Reader, Rendered } from "../dialect.ts";
import { defaulted, fieldsReader, perModel } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";

/** Per request (developers.cloudflare.com/workers-ai/platform/limits). */
const MAX_TEXTS = 100;

export const maxTexts = (model: Pick<Model, "input">): number =>
	inputFamily(model).embeddings?.maxTexts ?? MAX_TEXTS;

// A text may be empty. The published schemas have `minLength: 1`, but the product embeds empty texts (observed).
const textOrTexts = (max: number) => z.union([z.string(), z.array(z.string()).min(1).max(max)]);
const asList = (texts: string | string[] | undefined): string[] =>
	typeof texts === "string" ? [texts] : (texts ?? []);

const Pooling = z.enum(["mean", "cls"]);
const bge = fieldsReader(
	{ text: textOrTexts(MAX_TEXTS), pooling: Pooling.optional() },
	({ text, pooling = "mean" }) => ({
		task: "text-embeddings",
		// The context of these models is 512 tokens, and they have no field for truncation: longer texts are truncated.
		input: { texts: asList(text), pooling, truncate: true },
	}),
);

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
				? [...asList(inputs.query), ...inputs.contexts.map(({ text }) => text)]
				: asList(inputs.text);
		return {
			task: "text-embeddings",
			// The model's dense vectors always use the first token.
			input: { texts, pooling: "cls", truncate: inputs.truncate_inputs ?? false },
		};
	},
};

const plain = fieldsReader({ text: textOrTexts(MAX_TEXTS) }, ({ text }) => ({
	task: "text-embeddings",
	input: { texts: asList(text) },
}));

const DEFAULT_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query";
const qwen3Inputs = perModel((model) => {
	const texts = textOrTexts(maxTexts(model)).optional();
	return z.object({
		queries: texts,
		instruction: defaulted(model, "instruction", z.string()),
		documents: texts,
		text: texts,
	});
});
type Qwen3Inputs = z.output<ReturnType<typeof qwen3Inputs>>;

/** The vectors are in the order queries, documents, text. `text` is another name for documents. */
const qwen3: Reader = {
	schema: qwen3Inputs,
	read({ queries, instruction = DEFAULT_INSTRUCTION, documents, text }: Qwen3Inputs) {
		const texts = [
			// The model's training format: huggingface.co/Qwen/Qwen3-Embedding-0.6B.
			...asList(queries).map((query) => `Instruct: ${instruction}\nQuery:${query}`),
			...asList(documents),
			...asList(text),
		];
		if (texts.length === 0)
			throw badInput(
				"anyOf at '/' not met: required properties at '/' are 'queries', required properties at '/' are 'documents', required properties at '/' are 'text'",
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
 * Renders the result of `write`. If the engine's JSON of the vectors exists, it is copied into the reply, and the numbers
 * are parsed only if the reply is used as a value, as in RPC.
 */
export function renderVectors(output: EmbeddingsOutput, write: (vectors: number[][]) => object): Rendered {
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
const usageField = ({ usage }: EmbeddingsOutput) => usage && { usage };

const vectorsWriter = (schema: typeof PlainOutput | typeof PooledOutput): NativeWriter => ({
	schema,
	write(answer, { call }) {
		const output = outputValue("text-embeddings", answer);
		const pooling = (call.task === "text-embeddings" && call.input.pooling) || "mean";
		const fields = { ...(schema === PooledOutput && { pooling }), ...usageField(output) };
		return renderVectors(output, (data) => ({ shape: shapeOf(output), data, ...fields }));
	},
});
const pooledWriter = vectorsWriter(PooledOutput);

const RankedOutput = z.object({
	response: z.array(z.object({ id: z.int(), score: z.number() })),
	usage: Usage,
});
const ContextsOutput = z.object({ response: Vectors, shape: Shape, pooling: Pooling, usage: Usage });

const m3Writer: NativeWriter = {
	schema: z.union([RankedOutput, ContextsOutput, PooledOutput]),
	write(answer, context) {
		const { inputs } = context;
		if (typeof inputs !== "object" || inputs === null || !("contexts" in inputs))
			return pooledWriter.write(answer, context);
		const output = outputValue("text-embeddings", answer);
		if ("query" in inputs && inputs.query !== undefined) {
			const value = { response: rankContexts(output.vectors), ...usageField(output) };
			return { kind: "json", value: value satisfies z.input<typeof RankedOutput> };
		}
		const fields = { shape: shapeOf(output), pooling: "cls" as const, ...usageField(output) };
		return renderVectors(
			output,
			(response) => ({ response, ...fields }) satisfies z.input<typeof ContextsOutput>,
		);
	},
};

/** Contexts by similarity to the query, best first. The first vector is the query's. */
function rankContexts([query = [], ...contexts]: number[][]): { id: number; score: number }[] {
	return contexts
		.map((context, id) => ({ id, score: cosine(query, context) }))
		.sort((a, b) => b.score - a.score);
}

/** From -1 to 1; 0 if a vector has zero length. */
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
	"embeddings-plain": vectorsWriter(PlainOutput),
} satisfies Partial<Record<OutputShape, NativeWriter>>;

/**
 * `JSON.stringify` for plain data, with existing JSON text for some values. Those values are not read. The result is built
 * with `+=`, so that the engine copies long texts only once, at the end.
 */
function stringifyWith(value: unknown, texts: ReadonlyMap<unknown, string>): string {
	const text = texts.get(value);
	if (text !== undefined) return text;
	if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
	let written = "";
	if (Array.isArray(value)) {
		for (const each of value) written += `${written && ","}${stringifyWith(each, texts)}`;
		return `[${written}]`;
	}
	for (const [name, member] of Object.entries(value))
		if (member !== undefined)
			written += `${written && ","}${JSON.stringify(name)}:${stringifyWith(member, texts)}`;
	return `{${written}}`;
}
