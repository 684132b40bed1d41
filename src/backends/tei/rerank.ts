/**
 * `/rerank`. The server has no limit on the number of results, so `top_k` is applied here. A pair that is too long is
 * truncated; otherwise it would fail the complete request.
 */
import * as z from "zod";
import type { RerankingInput } from "../../tasks/reranking/types.ts";
import type { Answer } from "../../tasks/task.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { inBatches } from "./batches.ts";

const RerankReply = z.array(z.looseObject({ index: z.int().nonnegative(), score: z.number() }));

export async function rerank(
	{ query, contexts, top_k }: RerankingInput,
	call: Call,
): Promise<Answer<"reranking">> {
	const parts = await inBatches(contexts, async (texts, start) => {
		const ranks = await postJson(
			call,
			"/rerank",
			// Probabilities do not depend on the other pairs, so the scores of several calls can be compared.
			{ query, texts, raw_scores: false, truncate: true },
			RerankReply,
		);
		const indices = new Set(ranks.map(({ index }) => index).filter((index) => index < texts.length));
		if (ranks.length !== texts.length || indices.size !== texts.length)
			throw failureOfShape(call, `a ranking of ${texts.length} contexts`);
		return ranks.map(({ index, score }) => ({ id: start + index, score }));
	});
	const ranks = parts
		.flat()
		.sort((a, b) => b.score - a.score)
		.slice(0, top_k);
	return { kind: "value", output: { ranks } };
}
