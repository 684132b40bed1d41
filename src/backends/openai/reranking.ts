/**
 * `/rerank` in the format of Jina and Cohere, which vLLM, llama.cpp, Infinity and LocalAI serve. OpenAI has no such route.
 *
 * A score is a probability or, at llama.cpp, its logit. Logits are converted to probabilities: all scores of a reply or
 * none, so that their order stays.
 */
import * as z from "zod";
import type { RerankingInput } from "../../tasks/reranking/types.ts";
import type { Answer } from "../../tasks/task.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";

const RerankReply = z.looseObject({
	results: z.array(z.looseObject({ index: z.int().nonnegative(), relevance_score: z.number() })),
});

export async function rerank(input: RerankingInput, call: Call): Promise<Answer<"reranking">> {
	const { query, contexts, top_k } = input;
	const { results } = await postJson(
		call,
		"/rerank",
		{ model: call.target.model, query, documents: contexts, top_n: top_k },
		RerankReply,
	);
	const indices = new Set(results.map(({ index }) => index).filter((index) => index < contexts.length));
	const expected = Math.min(top_k ?? contexts.length, contexts.length);
	if (indices.size !== results.length || indices.size < expected)
		throw failureOfShape(call, `a ranking of ${contexts.length} contexts`);
	const areProbabilities = results.every(({ relevance_score: score }) => score >= 0 && score <= 1);
	const ranks = results
		.map(({ index, relevance_score: score }) => ({
			id: index,
			score: areProbabilities ? score : sigmoid(score),
		}))
		.sort((a, b) => b.score - a.score)
		.slice(0, top_k);
	return { kind: "value", output: { ranks } };
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
