/**
 * Tasks without a route in OpenAI's API, as a chat: an instruction, the input as the user's message, and a JSON schema if
 * the answer has a structure. A reply that does not match is `executionFailed`, so another target is tried; replies are
 * never repaired.
 *
 * Known differences from the models of the catalogue for these tasks: probabilities are the engine's estimates in whole
 * percent, text classification is limited to sentiment (the catalogue has one such model), and the accuracy of boxes
 * depends on the engine. `turn-detection` is not supported: a chat cannot detect the end of an
 * utterance in audio.
 *
 * Temperature is 0 and reasoning is disabled, except at OpenAI, whose reasoning models refuse the former and cannot
 * disable the latter.
 */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import type { SummarizationInput } from "../../tasks/summarization/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ClassifyTextInput } from "../../tasks/text-classification/types.ts";
import type { ChatInput, ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import type { TranslationInput } from "../../tasks/translation/types.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { chat } from "./chat.ts";
import { isOpenAiService } from "./service.ts";

export interface PromptedAnswer<Value> {
	value: Value;
	usage?: Usage | undefined;
}

type Prompt = { instruction: string; content: string | ContentPart[] } & Partial<ChatInput>;

/** An answer in plain text. */
export async function promptForText(prompt: Prompt, call: Call): Promise<PromptedAnswer<string>> {
	const { instruction, content, ...fields } = prompt;
	const messages: ChatMessage[] = [{ role: "user", content }];
	if (instruction) messages.unshift({ role: "system", content: instruction });
	const reply = await chat(
		{
			messages,
			stream: false,
			reasoning_effort: null,
			...(!isOpenAiService(call.target) && { temperature: 0 }),
			...fields,
		},
		call,
	);
	const text = reply.choices[0]?.message.content?.trim();
	if (!text) throw failureOfContent(call, "answered with no text");
	return { value: text, usage: reply.usage ?? undefined };
}

/**
 * An answer that matches the schema. Engines with grammars enforce it; for the others it is in the prompt. The answer is
 * checked in both cases.
 */
export async function promptForJson<Schema extends z.ZodObject>(
	schema: Schema,
	prompt: Prompt,
	call: Call,
): Promise<PromptedAnswer<z.output<Schema>>> {
	const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema);
	const { value: text, usage } = await promptForText(
		{
			...prompt,
			instruction: `${prompt.instruction} Answer with JSON alone, of this schema: ${JSON.stringify(jsonSchema)}`,
			response_format: {
				type: "json_schema",
				json_schema: { name: "answer", schema: jsonSchema, strict: true },
			},
		},
		call,
	);
	const parsed = schema.safeParse(jsonIn(text));
	if (!parsed.success) throw failureOfContent(call, "answered with something that is not the JSON asked for");
	return { value: parsed.data, usage };
}

/** Engines without grammars often put the JSON into a code fence. */
function jsonIn(text: string): unknown {
	try {
		return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
	} catch {
		return undefined;
	}
}

/** Whole numbers, because grammars can bound them. */
export const Percent = z.int().min(0).max(100);

/** Scales the percentages to a sum of 1. `undefined` if all are 0. */
export function shares(percents: number[]): number[] | undefined {
	const sum = percents.reduce((total, percent) => total + percent, 0);
	return sum > 0 ? percents.map((percent) => percent / sum) : undefined;
}

export async function translate(input: TranslationInput, call: Call): Promise<Answer<"translation">> {
	const { texts, source_lang, target_lang } = input;
	const languages = `from ${languageName(source_lang)} to ${languageName(target_lang)}`;
	const [text] = texts;
	if (text === undefined) return { kind: "value", output: { texts: [] } };
	if (texts.length === 1) {
		const { value, usage } = await promptForText(
			{
				instruction: `Translate the user's message ${languages}. Answer with the translation alone.`,
				content: text,
			},
			call,
		);
		return { kind: "value", output: { texts: [value], usage } };
	}
	// Named members, not a list: a grammar then enforces that each text is there.
	const names = texts.map((_, index) => `text_${index + 1}`);
	const { value, usage } = await promptForJson(
		z.strictObject(Object.fromEntries(names.map((name) => [name, z.string()]))),
		{
			instruction: `Translate every text of the user's JSON ${languages}. Answer with JSON of the same names.`,
			content: JSON.stringify(Object.fromEntries(names.map((name, index) => [name, texts[index]]))),
		},
		call,
	);
	return { kind: "value", output: { texts: names.map((name) => value[name] ?? ""), usage } };
}

/** `fr` and `hin_Deva` by their English names; what is not a code stays as it is. */
function languageName(language: string): string {
	try {
		return new Intl.DisplayNames("en", { type: "language" }).of(language.replaceAll("_", "-")) ?? language;
	} catch {
		return language;
	}
}

export async function summarize(input: SummarizationInput, call: Call): Promise<Answer<"summarization">> {
	const { value: summary, usage } = await promptForText(
		{
			instruction: "Summarize the user's text in its own language. Answer with the summary alone.",
			content: input.text,
			max_tokens: input.max_length,
		},
		call,
	);
	return { kind: "value", output: { summary, usage } };
}

const Sentiment = z.strictObject({ positive: Percent });

export async function classifyText(
	{ text }: ClassifyTextInput,
	call: Call,
): Promise<Answer<"text-classification">> {
	const { value } = await promptForJson(
		Sentiment,
		{
			instruction: "How likely is it, in percent, that the sentiment of the user's text is positive?",
			content: text,
		},
		call,
	);
	const positive = value.positive / 100;
	return {
		kind: "value",
		output: {
			labels: [
				{ label: "NEGATIVE", score: 1 - positive },
				{ label: "POSITIVE", score: positive },
			],
		},
	};
}
