/** Log probabilities. The simulator is deterministic, so each token has probability 1. */
import type { ChatInput } from "../../tasks/text-generation/types.ts";

interface TokenLogprob {
	token: string;
	logprob: number;
	bytes: number[];
}

/** OpenAI's `logprobs` of a choice or a chunk; null unless the request has `logprobs`. */
export function logprobsOf({ logprobs, top_logprobs = 0 }: ChatInput, tokens: string[]): unknown {
	if (!logprobs) return null;
	const encoder = new TextEncoder();
	const content = tokens.map((token) => {
		const certain: TokenLogprob = { token, logprob: 0, bytes: Array.from(encoder.encode(token)) };
		return { ...certain, top_logprobs: top_logprobs > 0 ? [certain] : [] };
	});
	return { content, refusal: null };
}
