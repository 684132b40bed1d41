/**
 * Llama Guard without a model: `unsafe` where the last message names a category of its taxonomy (`S1` to `S14`, MLCommons)
 * or has one of a few words, so that both branches of the caller's code can be tested.
 */
import { type ChatInput, textOf } from "../../tasks/text-generation/types.ts";

/** What is read of the last message. */
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

/** As Llama Guard writes it, or as the JSON that it writes when `response_format` asks for an object. */
export function verdict({ messages, prompt, response_format }: ChatInput): string {
	const text = (prompt ?? textOf(messages.at(-1)?.content ?? "")).slice(0, MAX_CHARACTERS);
	const categories = HAZARDS.filter(({ pattern }) => pattern.test(text)).map(({ category }) => category);
	if ((response_format?.type ?? "text") !== "text")
		return JSON.stringify({ safe: categories.length === 0, categories });
	return categories.length === 0 ? "safe" : `unsafe\n${categories.join(",")}`;
}
