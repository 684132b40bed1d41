/**
 * Embeddings: https://ai.google.dev/api/embeddings, up to 100 texts per call. Gemini always truncates texts that are
 * too long, and does not count tokens.
 */
import * as z from "zod";
import type { Handler } from "../handler.ts";
import { postJson } from "../transport/http.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";
import { pathOf, resourceOf } from "./service.ts";

const MAX_BATCH = 100;

const EmbedReply = z.looseObject({
	embeddings: z.array(z.looseObject({ values: z.array(z.number()).min(1) })),
});

function toUnit(values: number[]): number[] {
	const length = Math.hypot(...values);
	return length > 0 ? values.map((value) => value / length) : values;
}

export const embedTexts: Handler<"text-embeddings"> = async ({ texts, dimensions }, call) => {
	const model = resourceOf(call.target.model);
	const vectors: number[][] = [];
	for (let start = 0; start < texts.length; start += MAX_BATCH) {
		const requests = texts.slice(start, start + MAX_BATCH).map((text) => ({
			model,
			content: { parts: [{ text }] },
			outputDimensionality: dimensions,
		}));
		const { embeddings } = await postJson(call, pathOf(call, "batchEmbedContents"), { requests }, EmbedReply);
		if (embeddings.length !== requests.length)
			throw failureOfShape(call, `${requests.length} embeddings`, embeddings);
		// Gemini normalizes only vectors of the model's full dimension.
		vectors.push(...embeddings.map(({ values }) => (dimensions === undefined ? values : toUnit(values))));
	}
	return { vectors };
};
