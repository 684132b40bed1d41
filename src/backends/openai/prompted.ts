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
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import type { Usage } from "../../core/usage.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { ChatInput, ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import type { Handler } from "../handler.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { chat } from "./chat.ts";
import { serviceAt } from "./hosts.ts";

interface PromptedAnswer<Value> {
	value: Value;
	usage?: Usage | undefined;
}

type Prompt = { instruction: string; content: string | ContentPart[] } & Partial<ChatInput>;

/** An answer in plain text. */
export async function promptForText(prompt: Prompt, call: Call): Promise<PromptedAnswer<string>> {
	const { instruction, content, ...fields } = prompt;
	const messages: ChatMessage[] = [{ role: "user", content }];
	if (instruction) messages.unshift({ role: "system", content: instruction });
	const defaults = { reasoning_effort: null, ...(!serviceAt(call.target).isOpenAi && { temperature: 0 }) };
	const reply = await chat({ messages, stream: false, ...defaults, ...fields }, call);
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
	const instruction = `${prompt.instruction} Answer with JSON alone, of this schema: ${JSON.stringify(jsonSchema)}`;
	const json_schema = { name: "answer", schema: jsonSchema, strict: true };
	const response_format = { type: "json_schema", json_schema } as const;
	const { value: text, usage } = await promptForText({ ...prompt, instruction, response_format }, call);
	// Engines without grammars often put the JSON into a code fence.
	const parsed = safeParse(schema, parseJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)));
	if (!parsed.success) throw failureOfContent(call, "answered with something other than the requested JSON");
	return { value: parsed.data, usage };
}

/** Whole numbers, because grammars can bound them. */
export const Percent = lazy(() => z.int().min(0).max(100));

/** Scales the percentages to a sum of 1. `undefined` if all are 0. */
export function shares(percents: number[]): number[] | undefined {
	const sum = percents.reduce((total, percent) => total + percent, 0);
	return sum > 0 ? percents.map((percent) => percent / sum) : undefined;
}

export const translate: Handler<"translation"> = async ({ texts, source_lang, target_lang }, call) => {
	const languages = `from ${languageName(source_lang)} to ${languageName(target_lang)}`;
	const [content] = texts;
	if (content === undefined) return { texts: [] };
	if (texts.length === 1) {
		const instruction = `Translate the user's message ${languages}. Answer with the translation alone.`;
		const { value, usage } = await promptForText({ instruction, content }, call);
		return { texts: [value], usage };
	}
	// Named members, not a list: a grammar then enforces that each text is there.
	const named = Object.fromEntries(texts.map((text, index) => [`text_${index + 1}`, text]));
	const instruction = `Translate every text of the user's JSON ${languages}. Answer with JSON of the same names.`;
	const schema = z.strictObject(Object.fromEntries(Object.keys(named).map((name) => [name, z.string()])));
	const { value, usage } = await promptForJson(schema, { instruction, content: JSON.stringify(named) }, call);
	return { texts: Object.keys(named).map((name) => value[name] ?? ""), usage };
};

/** `fr` and `hin_Deva` by their English names; what is not a code stays as it is. */
function languageName(language: string): string {
	try {
		return new Intl.DisplayNames("en", { type: "language" }).of(language.replaceAll("_", "-")) ?? language;
	} catch {
		return language;
	}
}

export const summarize: Handler<"summarization"> = async ({ text: content, max_length }, call) => {
	const instruction = "Summarize the user's text in its own language. Answer with the summary alone.";
	const { value, usage } = await promptForText({ instruction, content, max_tokens: max_length }, call);
	return { summary: value, usage };
};

const Sentiment = lazy(() => z.strictObject({ positive: Percent() }));

export const classifyText: Handler<"text-classification"> = async ({ text: content }, call) => {
	const instruction = "How likely is it, in percent, that the sentiment of the user's text is positive?";
	const { value } = await promptForJson(Sentiment(), { instruction, content }, call);
	const positive = value.positive / 100;
	return {
		labels: [
			{ label: "NEGATIVE", score: 1 - positive },
			{ label: "POSITIVE", score: positive },
		],
	};
};
