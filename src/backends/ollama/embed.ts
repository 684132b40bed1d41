/** `/api/embed`: vectors of unit length. The model decides how token vectors are pooled. */
import * as z from "zod";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings/types.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";

const EmbedReply = z.looseObject({
	embeddings: z.array(z.array(z.number()).min(1)),
	prompt_eval_count: z.number().nullish(),
});

export async function embedTexts(
	{ texts, truncate, dimensions }: EmbeddingsInput,
	call: Call,
): Promise<Answer<"text-embeddings">> {
	const { embeddings, prompt_eval_count } = await postJson(
		call,
		"/api/embed",
		{ model: call.target.model, input: texts, truncate, dimensions },
		EmbedReply,
	);
	if (embeddings.length !== texts.length) throw failureOfShape(call, `${texts.length} embeddings`);
	return {
		kind: "value",
		output: {
			vectors: embeddings,
			...(prompt_eval_count != null && {
				usage: { prompt_tokens: prompt_eval_count, total_tokens: prompt_eval_count },
			}),
		},
	};
}
