/** `/api/embed`: vectors of unit length. The model decides how token vectors are pooled. */
import * as z from "zod";
import { countOf } from "../../core/usage.ts";
import type { Handler } from "../handler.ts";
import { postJson } from "../transport/http.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";

const EmbedReply = z.looseObject({
	embeddings: z.array(z.array(z.number()).min(1)),
	prompt_eval_count: z.unknown().optional().transform(countOf),
});

export const embedTexts: Handler<"text-embeddings"> = async ({ texts, truncate, dimensions }, call) => {
	const body = { model: call.target.model, input: texts, truncate, dimensions };
	const { embeddings: vectors, prompt_eval_count: count } = await postJson(
		call,
		"/api/embed",
		body,
		EmbedReply,
	);
	if (vectors.length !== texts.length) throw failureOfShape(call, `${texts.length} embeddings`, vectors);
	return { vectors, ...(count !== undefined && { usage: { prompt_tokens: count, total_tokens: count } }) };
};
