/** Classification, summaries and translation: each answer states that it is simulated. */
import type { SummarizationInput } from "../../tasks/summarization/index.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ClassifyTextInput } from "../../tasks/text-classification/index.ts";
import type { TranslationInput } from "../../tasks/translation/index.ts";
import { countTokens, tokenize } from "./tokens.ts";

/** Tokens of the text that a summary quotes. */
const QUOTED_TOKENS = 40;

const usageOf = (prompt_tokens: number, completion_tokens: number) => ({
	prompt_tokens,
	completion_tokens,
	total_tokens: prompt_tokens + completion_tokens,
});

/** The same undecided answer for all texts. */
export async function textClassification(_: ClassifyTextInput): Promise<Answer<"text-classification">> {
	const labels = ["NEGATIVE", "POSITIVE"].map((label) => ({ label, score: 0.5 }));
	return { kind: "value", output: { labels } };
}

export async function summarization({
	text,
	max_length,
}: SummarizationInput): Promise<Answer<"summarization">> {
	const tokens = tokenize(text.trim());
	const start = tokens.slice(0, QUOTED_TOKENS).join("");
	const full = `[Simulated summary; no model read the text.] It begins: "${start}${tokens.length > QUOTED_TOKENS ? " …" : ""}"`;
	const summary = tokenize(full).slice(0, max_length).join("");
	return { kind: "value", output: { summary, usage: usageOf(countTokens(text), countTokens(summary)) } };
}

export async function translation({ texts, target_lang }: TranslationInput): Promise<Answer<"translation">> {
	const translations = texts.map((text) => `[simulated translation to ${target_lang}] ${text}`);
	const count = (list: string[]) => list.reduce((sum, text) => sum + countTokens(text), 0);
	return {
		kind: "value",
		output: { texts: translations, usage: usageOf(count(texts), count(translations)) },
	};
}
