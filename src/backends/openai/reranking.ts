/**
 * `/rerank` in the format of Jina and Cohere, which vLLM, llama.cpp, Infinity and LocalAI serve. OpenAI has no such route.
 *
 * A score is a probability or, at llama.cpp, its logit. Logits are converted to probabilities: all scores of a reply or
 * none, so that their order stays.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { Handler } from "../handler.ts";
import { bestRanks, checkRanks } from "../ranking.ts";
import { postJson } from "../transport/http.ts";

const RerankReply = lazy(() =>
	z.looseObject({
		results: z.array(z.looseObject({ index: z.int().nonnegative(), relevance_score: z.number() })),
	}),
);

interface RankOptions {
	/** `either`: decided for each reply. */
	scores: "logits" | "either";
}

export const rerankWith =
	({ scores }: RankOptions): Handler<"reranking"> =>
	async (input, call) => {
		const { query, contexts, top_k } = input;
		const body = { model: call.target.model, query, documents: contexts, top_n: top_k };
		const { results } = await postJson(call, "/rerank", body, RerankReply());
		const areProbabilities =
			scores === "either" && results.every(({ relevance_score: score }) => score >= 0 && score <= 1);
		const ranks = results.map(({ index, relevance_score: score }) => ({
			id: index,
			score: areProbabilities ? score : sigmoid(score),
		}));
		const expected = Math.min(top_k ?? contexts.length, contexts.length);
		return bestRanks(checkRanks(ranks, contexts, expected, call), input);
	};

export const rerank = rerankWith({ scores: "either" });

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
