/** `/embed`: vectors of unit length, like those of the catalogue's models. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings/types.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { inBatches } from "./batches.ts";

const EmbedReply = z.array(z.array(z.number()).min(1));

export async function embedTexts(
	{ texts, truncate, dimensions }: EmbeddingsInput,
	call: Call,
): Promise<Answer<"text-embeddings">> {
	const parts = await inBatches(texts, async (inputs) => {
		const vectors = await postJson(
			call,
			"/embed",
			{ inputs, normalize: true, truncate, dimensions },
			EmbedReply,
		);
		if (vectors.length !== inputs.length) throw failureOfShape(call, `${inputs.length} embeddings`);
		return vectors;
	});
	return { kind: "value", output: { vectors: parts.flat() } };
}
