/**
 * `POST /ai/v1/embeddings`, for every model of the task (platform.openai.com/docs/api-reference/embeddings).
 *
 * Known difference from OpenAI: arrays of tokens are refused, because no two models here share a vocabulary; a request
 * holds as many texts as the model's native route allows, not 2048.
 */

import * as z from "zod";
import { approximateTokens } from "../../counting/token-estimate.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent, perModel } from "../fields.ts";
import { encodeBase64 } from "../media/media.ts";
import { outputValue } from "../output-value.ts";
import { mostTexts, withVectors } from "./embeddings.ts";

const notTokens = (input: unknown): boolean =>
	!Array.isArray(input) || !(typeof input[0] === "number" || Array.isArray(input[0]));

/** LangChain sends tokens unless it is told not to, so the way out is named as it is called there. */
const NO_TOKENS =
	"must be text, not tokens: the vocabularies of models differ (LangChain: check_embedding_ctx_length: false)";

const inputs = perModel((model) =>
	nullAsAbsent(
		z.object({
			model: z.string(),
			input: z
				.unknown()
				.refine(notTokens, NO_TOKENS)
				.pipe(z.union([z.string(), z.array(z.string()).min(1).max(mostTexts(model))])),
			encoding_format: z.enum(["float", "base64"]).default("float"),
			dimensions: z.int().min(1).optional(),
			user: z.string().optional(),
		}),
	),
);
type Inputs = z.output<ReturnType<typeof inputs>>;

const Reply = z.object({
	object: z.literal("list"),
	data: z.array(
		z.object({
			object: z.literal("embedding"),
			index: z.int(),
			/** Base64 of little-endian 32-bit floats, when that was asked for. */
			embedding: z.union([z.array(z.number()), z.string()]),
		}),
	),
	model: z.string(),
	usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

export const openaiEmbeddings: Dialect = {
	reader: {
		schema: inputs,
		read({ input, dimensions, encoding_format }: Inputs, model) {
			const texts = typeof input === "string" ? [input] : input;
			const encoding = encoding_format === "base64" ? { encoding: encoding_format } : {};
			return {
				task: "text-embeddings",
				input: { texts, dimensions, ...encoding, ...nativeDefaults(model) },
			};
		},
	},
	writer: {
		schema: Reply,
		write(answer, { model, call }) {
			const output = outputValue("text-embeddings", answer);
			const { usage, written } = output;
			// SDKs count on it being there; an engine that did not count gets our estimate.
			const rest = { model: model.id, usage: usage ?? estimated(call) };
			const listOf = (embeddings: (number[] | string)[]) =>
				({
					object: "list",
					data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
					...rest,
				}) satisfies z.input<typeof Reply>;
			if (call.task !== "text-embeddings" || call.input.encoding !== "base64")
				return withVectors(output, listOf);
			const packed =
				written?.as === "base64"
					? written.rows
					: output.vectors.map((vector) => encodeBase64(floatBytes(vector)));
			return { kind: "json", value: listOf(packed) };
		},
	},
};

function estimated(call: TaskCall): { prompt_tokens: number; total_tokens: number } {
	const tokens = call.task === "text-embeddings" ? approximateTokens(call.input.texts) : 0;
	return { prompt_tokens: tokens, total_tokens: tokens };
}

/** What the model's native route does when it is told nothing, so that both routes give the same vectors. */
function nativeDefaults(model: Model): { pooling?: "mean" | "cls"; truncate?: boolean } {
	const { pooling, truncation } = inputFamily(model).embeddings ?? {};
	return {
		...(pooling && { pooling: pooling === "cls" || model.defaults.pooling === "cls" ? "cls" : "mean" }),
		...(truncation && { truncate: truncation === "always" }),
	};
}

/** As every machine here has them: little-endian. */
const floatBytes = (vector: number[]): Uint8Array => new Uint8Array(new Float32Array(vector).buffer);
