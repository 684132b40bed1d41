/** Summaries by extraction: the sentences that say most of what the others say too, in their order. */
import type { Answer } from "../../tasks/task.ts";
import type { SummarizationInput } from "../../tasks/text-transforms.ts";
import { sentences, terms, within, workOf } from "./text.ts";
import { countTokens, tokenize } from "./tokens.ts";

/** A text that is more work (see `workOf`) is read at its beginning and at its end. */
const MAX_WORK = 200_000;
const MAX_SENTENCES = 3;
/** The first sentence of a text mostly says what it is about. */
const FIRST_SENTENCE_BONUS = 1.3;

/** At most three sentences and `maxTokens` tokens; a first sentence that is longer is cut. */
export function summarize(text: string, maxTokens: number): string {
	const work = workOf(text);
	const all = sentences(work <= MAX_WORK ? text : within(text, Math.floor((text.length * MAX_WORK) / work)));
	const termsOf = all.map((sentence) => [...new Set(terms(sentence))]);
	const having = new Map<string, number>();
	for (const list of termsOf) for (const term of list) having.set(term, (having.get(term) ?? 0) + 1);

	const ranked = termsOf
		.map((list, index) => {
			const shared = list.reduce((sum, term) => sum + ((having.get(term) ?? 1) - 1), 0);
			// The root of the length: neither the longest sentence wins nor the shortest.
			const centrality = shared / Math.sqrt(list.length || 1);
			return { index, centrality: index === 0 ? centrality * FIRST_SENTENCE_BONUS + 0.01 : centrality };
		})
		.sort((a, b) => b.centrality - a.centrality || a.index - b.index);

	const chosen: number[] = [];
	let tokens = 0;
	for (const { index } of ranked) {
		if (chosen.length === MAX_SENTENCES) break;
		const cost = countTokens(all[index] ?? "") + 1;
		if (tokens + cost > maxTokens) continue;
		chosen.push(index);
		tokens += cost;
	}
	if (chosen.length === 0)
		return tokenize(all[0] ?? text.trim())
			.slice(0, maxTokens)
			.join("");
	return chosen
		.sort((a, b) => a - b)
		.map((index) => all[index])
		.join(" ");
}

export async function summarization({
	text,
	max_length,
}: SummarizationInput): Promise<Answer<"summarization">> {
	const summary = summarize(text, max_length);
	const prompt_tokens = countTokens(text);
	const completion_tokens = countTokens(summary);
	const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
	return { kind: "value", output: { summary, usage } };
}
