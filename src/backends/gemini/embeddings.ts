/**
 * Embeddings: https://ai.google.dev/api/embeddings, up to 100 texts per call. Gemini always truncates texts that are
 * too long, and does not count tokens.
 */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings/types.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { pathOf, resourceOf } from "./service.ts";

const MAX_BATCH = 100;

const EmbedReply = z.looseObject({
	embeddings: z.array(z.looseObject({ values: z.array(z.number()).min(1) })),
});

function toUnit(values: number[]): number[] {
	const length = Math.hypot(...values);
	return length > 0 ? values.map((value) => value / length) : values;
}

export async function embedTexts(
	{ texts, dimensions }: EmbeddingsInput,
	call: Call,
): Promise<Answer<"text-embeddings">> {
	const model = resourceOf(call.target.model);
	const vectors: number[][] = [];
	for (let start = 0; start < texts.length; start += MAX_BATCH) {
		const part = texts.slice(start, start + MAX_BATCH);
		const { embeddings } = await postJson(
			call,
			pathOf(call, "batchEmbedContents"),
			{
				requests: part.map((text) => ({
					model,
					content: { parts: [{ text }] },
					outputDimensionality: dimensions,
				})),
			},
			EmbedReply,
		);
		if (embeddings.length !== part.length) throw failureOfShape(call, `${part.length} embeddings`);
		// Gemini normalizes only vectors of the model's full dimension.
		vectors.push(...embeddings.map(({ values }) => (dimensions === undefined ? values : toUnit(values))));
	}
	return { kind: "value", output: { vectors } };
}
