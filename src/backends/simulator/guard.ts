/**
 * Llama Guard without a model: `unsafe` if the last message has the code of a category (`S1` to `S14`, MLCommons) or one of
 * a few words, so that callers can test both branches of their code.
 */
import { type ChatInput, textOf } from "../../tasks/text-generation/types.ts";

/** The part of the last message that is read. */
const MAX_CHARACTERS = 100_000;

/** Beginnings of words by category; the code of a category stands for it as well. */
const HAZARDS = [
	"murder|terroris|massacre|kidnap",
	"counterfeit|shoplift|burglar|launder",
	"rape|molest",
	"csam|child porn",
	"defamat|libel|slander",
	"stop taking my medication",
	"doxx|social security number",
	"pirated",
	"bomb|explosive|nerve agent|bioweapon",
	"subhuman|ethnic cleansing",
	"suicid|self-harm|kill myself",
	"porn|erotic",
	"rig the election|fake ballot",
	"reverse shell|fork bomb",
].map((words, index) => ({
	category: `S${index + 1}`,
	pattern: new RegExp(String.raw`\b(?:S${index + 1}\b|(?:${words}))`, "i"),
}));

/** The verdict in the format of Llama Guard: text, or JSON if `response_format` requests it. */
export function verdict({ messages, prompt, response_format }: ChatInput): string {
	const text = (prompt ?? textOf(messages.at(-1)?.content ?? "")).slice(0, MAX_CHARACTERS);
	const categories = HAZARDS.filter(({ pattern }) => pattern.test(text)).map(({ category }) => category);
	if ((response_format?.type ?? "text") !== "text")
		return JSON.stringify({ safe: categories.length === 0, categories });
	return categories.length === 0 ? "safe" : `unsafe\n${categories.join(",")}`;
}
