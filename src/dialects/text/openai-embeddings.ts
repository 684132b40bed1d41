/**
 * `POST /ai/v1/embeddings`, for every model of the task (platform.openai.com/docs/api-reference/embeddings).
 *
 * Known differences from OpenAI: models of Workers AI take no arrays of tokens, because the vocabulary of clients is OpenAI's; the
 * maximum number of texts is that of the model's native route, not 2048.
 */
import * as z from "zod";
import { approximateTokens } from "../../counting/token-estimate.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { inputFamily } from "../../models/family.ts";
import { isProductId, type Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import { type EmbeddingsInput, NO_TOKENS } from "../../tasks/text-embeddings/index.ts";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent, perModel } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { maxTexts, renderVectors } from "./embeddings.ts";

const isNotTokens = (input: unknown): boolean =>
	!Array.isArray(input) || !(typeof input[0] === "number" || Array.isArray(input[0]));

const Tokens = z.array(z.int().min(0)).min(1);

const textInput = (model: Model) => z.union([z.string(), z.array(z.string()).min(1).max(maxTexts(model))]);

const inputs = perModel((model) =>
	nullAsAbsent(
		z.object({
			model: z.string(),
			input: isProductId(model.id)
				? z.unknown().refine(isNotTokens, `must be ${NO_TOKENS}`).pipe(textInput(model))
				: z.union([textInput(model), Tokens, z.array(Tokens).min(1).max(maxTexts(model))]),
			encoding_format: z.enum(["float", "base64"]).default("float"),
			dimensions: z.int().min(1).optional(),
			user: z.string().optional(),
		}),
	),
);
type EmbeddingInputs = z.output<ReturnType<typeof inputs>>;

/** A list of numbers is the tokens of one text. */
function rowsOf(input: EmbeddingInputs["input"]): Pick<EmbeddingsInput, "texts" | "tokens"> {
	if (typeof input === "string") return { texts: [input] };
	const [first] = input;
	if (typeof first === "string") return { texts: input as string[] };
	return { texts: [], tokens: typeof first === "number" ? [input as number[]] : (input as number[][]) };
}

export const openaiEmbeddings: Dialect = {
	reader: {
		schema: inputs,
		read({ input, dimensions, encoding_format }: EmbeddingInputs, model) {
			const encoding = encoding_format === "base64" ? { encoding: encoding_format } : {};
			return {
				task: "text-embeddings",
				input: { ...rowsOf(input), dimensions, ...encoding, ...nativeDefaults(model) },
			};
		},
	},
	writer: {
		write(answer, { model, call }) {
			const output = outputValue("text-embeddings", answer);
			const { usage, written } = output;
			// SDKs require the usage. For engines without counts it is our estimate.
			const fields = { model: model.id, usage: usage ?? estimated(call) };
			/** An embedding is a list, or base64 of little-endian 32-bit floats if requested. */
			const listOf = (embeddings: (number[] | string)[]) => ({
				object: "list",
				data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
				...fields,
			});
			if (call.task !== "text-embeddings" || call.input.encoding !== "base64")
				return renderVectors(output, listOf);
			const packed =
				written?.as === "base64"
					? written.rows
					: output.vectors.map((vector) => encodeBase64(floatBytes(vector)));
			return { kind: "json", value: listOf(packed) };
		},
	},
};

function estimated(call: TaskCall): { prompt_tokens: number; total_tokens: number } {
	if (call.task !== "text-embeddings") return { prompt_tokens: 0, total_tokens: 0 };
	const { texts, tokens: sent } = call.input;
	const tokens = sent ? sent.flat().length : approximateTokens(texts);
	return { prompt_tokens: tokens, total_tokens: tokens };
}

/** The defaults of the model's native route, so that both routes return the same vectors. */
export function nativeDefaults(model: Model): { pooling?: "mean" | "cls"; truncate?: boolean } {
	const { pooling, truncation } = inputFamily(model).embeddings ?? {};
	return {
		...(pooling && { pooling: pooling === "cls" || model.defaults.pooling === "cls" ? "cls" : "mean" }),
		...(truncation && { truncate: truncation === "always" }),
	};
}

/** Little-endian, as on all supported platforms. */
const floatBytes = (vector: number[]): Uint8Array => new Uint8Array(new Float32Array(vector).buffer);
