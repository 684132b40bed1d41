/** Reranking: the scores of llama-server are logits. */
import type { Handler } from "../handler.ts";
import { rerankWith } from "../openai/reranking.ts";
import { shortened, tokensOf, withinContext } from "./too-long.ts";

/** Marks of the model around the query and the text. */
const MARKS = 8;
/** Tokens of a text beside a long query. */
const MIN_TEXT_TOKENS = 16;

const rankByLogits = rerankWith({ scores: "logits" });

export const rerank: Handler<"reranking"> = (input, call) =>
	withinContext(call, {
		request: (first) => rankByLogits(input, first),
		async requestWithin(limit) {
			const room = limit - MARKS - MIN_TEXT_TOKENS;
			const query = await shortened(call, input.query, room);
			const left = limit - MARKS - (await tokensOf(call, query, false)).length;
			const contexts: string[] = [];
			for (const text of input.contexts) contexts.push(await shortened(call, text, left));
			return rankByLogits({ ...input, query, contexts }, call);
		},
	});
