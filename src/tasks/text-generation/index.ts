/** Text generation: its cost, its usage, and the properties that the pipeline decides by. Counts the parts of a chat. */
import { AiError } from "../../core/errors.ts";
import { bytesOfBase64, sizeOfUrl } from "../../counting/images.ts";
import {
	estimatedTokens,
	MAX_OUTPUT_TOKENS,
	type Measured,
	measuredBy,
	tokenUpperBound,
	toUsage,
} from "../../counting/quantities.ts";
import { soundOf } from "../../counting/sound.ts";
import { Approximation, type Tally, UpperBound } from "../../counting/tally.ts";
import { boundedTokens } from "../../counting/token-estimate.ts";
import type { Model } from "../../models/model.ts";
import type { TaskDefinition, Unsupported } from "../definition.ts";
import { chatPrompt } from "./prompt.ts";
import {
	type AssistantMessage,
	type ChatCompletion,
	type ChatInput,
	type ContentPart,
	requestsAudio,
	textOf,
} from "./types.ts";

/** The output limit if the caller sets none. */
const DEFAULT_OUTPUT_LIMIT = 4_096;

export const textGeneration: TaskDefinition<ChatInput, ChatCompletion> = {
	estimate(input, { contextWindow = MAX_OUTPUT_TOKENS, defaults }) {
		const tally = new UpperBound();
		tallyPrompt(input, tally);
		for (const { reasoning_details } of input.messages) if (reasoning_details) tally.json(reasoning_details);
		// Some engines add these to the prompt: schemas, template arguments, legacy functions.
		for (const added of [input.response_format, input.chat_template_kwargs, input.passthrough])
			if (added) tally.json(added);
		if (input.verbatim && hasMore(input)) tally.text(JSON.stringify(input.verbatim.body, withoutFiles));
		const { max_tokens, n = 1 } = input;
		const outputTokens = Math.min(max_tokens ?? DEFAULT_OUTPUT_LIMIT, contextWindow) * n;
		// A limit that equals the model's default was not set by the caller.
		const outputUnbounded = max_tokens === undefined || max_tokens === defaults.max_tokens;
		return { ...tokenUpperBound(tally.tokens, outputTokens), outputUnbounded };
	},
	measure(input, output) {
		return measuredBy(output.usage, () => {
			const reply = new Approximation();
			tallyReply(output, reply);
			return measureBounded(input, reply.tokens);
		});
	},
	measureStream: measureBounded,
	countInput: promptTokens,
	prompt: chatPrompt,
	completeUsage(output, measured) {
		output.usage = toUsage(measured, output.usage);
	},
	discardedUsage: ({ usage }) => usage ?? undefined,

	shareable: ({ stream }) => !stream,
	resumable: true,

	choices: ({ n = 1 }) => n,
	outputLimit: ({ max_tokens }) => max_tokens,
	boundOutput(input, tokens) {
		const { n = 1 } = input;
		const each = Math.max(1, Math.floor(tokens / n));
		const bounded = { ...input, max_tokens: Math.min(input.max_tokens ?? each, each) };
		// The limit is not the catalogue's any more.
		if (bounded.defaults) bounded.defaults = bounded.defaults.filter((name) => name !== "max_tokens");
		return bounded;
	},
	fetchesInput: (input) =>
		hasMore(input) ||
		input.passthrough?.web_search_options !== undefined ||
		input.messages.some(
			({ content }) =>
				Array.isArray(content) && content.some(({ file }) => file !== undefined && !file.file_data),
		),
	checkContext,

	unsupportedBy,
	dropped: ({ dropped, verbatim }, kind) =>
		dropped?.length && !(verbatim?.complete && verbatim.dialect === kind) ? dropped : undefined,
};

/** Whether an upstream of the caller's dialect receives parts that the chat format lacks: content, or tools that it runs. */
const hasMore = ({ verbatim, dropped = [] }: ChatInput): boolean =>
	verbatim?.unconverted !== undefined ||
	((verbatim?.complete === true || verbatim?.dialect === "responses") && dropped.length > 0);

/** JSON replacer that omits embedded files: they are counted with the converted messages. */
const withoutFiles = (_: string, value: unknown): unknown =>
	typeof value === "object" && value !== null && "type" in value && value.type === "base64" ? null : value;

/** Engines respect the output limit of all choices, so a larger count of ours is wrong. */
function measureBounded(input: ChatInput, outputTokens: number): Measured {
	const { max_tokens = Number.POSITIVE_INFINITY, n = 1 } = input;
	return estimatedTokens(promptTokens(input), Math.min(outputTokens, max_tokens * n));
}

function unsupportedBy(input: ChatInput, kind: string): Unsupported | undefined {
	const { unconverted, dialect } = input.verbatim ?? {};
	if (unconverted !== undefined && kind !== dialect)
		return { failure: "noSuchModel", reason: `does not support all of the request (${unconverted})` };
	// OpenAI's field for audio in the answer is only sent to engines of that kind, which accept or refuse it.
	if (kind !== "openai" && requestsAudio(input))
		return { failure: "invalidInput", field: "modalities", reason: "does not generate audio" };
	return undefined;
}

/**
 * Some tokenizers produce only this share of the estimate (docs/token-counts.md). Only prompts certainly too long are
 * refused.
 */
const LOWER_BOUND_SHARE = 0.8;
/** Maximum UTF-8 bytes of a UTF-16 code unit. A token has at least one byte. */
const MAX_BYTES_PER_CHARACTER = 3;

/**
 * Refuses a prompt that cannot fit the model's context window (5021).
 *
 * @param exact the engine counts prompts as the gateway does. Otherwise the prompt is estimated.
 */
export function checkContext(input: ChatInput, { contextWindow }: Model, exact: boolean): void {
	if (contextWindow === undefined) return;
	const prompt = exact ? promptTokens(input) : estimatedPrompt(input, contextWindow);
	const { max_tokens = 0 } = input;
	const total = prompt + max_tokens;
	if (total > contextWindow)
		throw new AiError(
			"contextWindowExceeded",
			`The estimated number of input and maximum output tokens (${total}) exceeded this model context window limit (${contextWindow})`,
			{ overflow: { inputTokens: prompt, outputTokens: max_tokens, limit: contextWindow } },
		);
}

/** 0 for a prompt that certainly fits. Most prompts are short, and counting is the most expensive step here. */
function estimatedPrompt(input: ChatInput, contextWindow: number): number {
	const { messages, prompt, tools, max_tokens = 0 } = input;
	const texts: string[] = [];
	for (const { content, tool_calls } of messages) {
		texts.push(typeof content === "string" ? content : textOf(content));
		if (tool_calls) texts.push(JSON.stringify(tool_calls));
	}
	if (prompt !== undefined) texts.push(prompt);
	if (tools) texts.push(JSON.stringify(tools));
	let characters = 0;
	for (const { length } of texts) characters += length;
	if (characters * MAX_BYTES_PER_CHARACTER + max_tokens <= contextWindow) return 0;
	return Math.floor(boundedTokens(texts, contextWindow / LOWER_BOUND_SHARE) * LOWER_BOUND_SHARE);
}

/** A template adds an introduction to the tools and the instructions for calling them. */
const TOOLS_INTRODUCTION_PARTS = 12;

function tallyPrompt(input: ChatInput, tally: Tally): void {
	const { messages, prompt, suffix, tools } = input;
	if (suffix !== undefined) tally.text(suffix);
	if (prompt !== undefined) tally.text(prompt);
	else tally.opening();
	tally.markers(messages.length);
	for (const { content, name, tool_calls, reasoning_content } of messages) {
		tallyContent(content, tally);
		if (name) tally.text(name);
		if (reasoning_content) tally.text(reasoning_content);
		for (const { function: called } of tool_calls ?? []) {
			tally.markers(2);
			tally.text(called.name);
			tally.text(called.arguments);
		}
	}
	if (!tools?.length) return;
	tally.markers(TOOLS_INTRODUCTION_PARTS);
	for (const tool of tools) tally.json(tool);
}

/** Tokens of the prompt by our own count. */
export function promptTokens(input: ChatInput): number {
	const tally = new Approximation();
	tallyPrompt(input, tally);
	return tally.tokens;
}

function tallyContent(content: string | ContentPart[] | null, tally: Tally): void {
	if (content === null) return;
	if (typeof content === "string") {
		tally.text(content);
		return;
	}
	for (const { text, refusal, image_url, input_audio, file } of content) {
		if (text) tally.text(text);
		if (refusal) tally.text(refusal);
		if (image_url) tally.image(sizeOfUrl(image_url.url));
		if (input_audio) tally.audio(soundOf(input_audio));
		if (file?.file_data) tally.file(bytesOfBase64(file.file_data));
	}
}

/** The model's output, including reasoning and tool calls. */
export function tallyReply({ choices }: Pick<ChatCompletion, "choices">, tally: Tally): void {
	for (const { message } of choices) tallyMessage(message, tally);
}

function tallyMessage(message: AssistantMessage, tally: Tally): void {
	const { content, reasoning_content, reasoning, refusal, tool_calls } = message;
	const thinking = reasoning_content ?? reasoning;
	for (const text of [content, thinking, refusal]) if (text) tally.text(text);
	for (const { function: called } of tool_calls ?? []) {
		tally.markers(1);
		tally.text(called.name);
		tally.text(called.arguments);
	}
}
