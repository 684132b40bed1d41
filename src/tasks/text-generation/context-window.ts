/** Whether a prompt can fit the context window of its model (5021). */

import { AiError } from "../../core/errors.ts";
import { boundedTokens } from "../../counting/bounded-estimate.ts";
import type { Model } from "../../models/model.ts";
import { promptTokens } from "./tally.ts";
import { type ChatInput, textOf } from "./types.ts";

/**
 * Some tokenizers produce only this share of the estimate (docs/token-counts.md). Only prompts certainly too long are
 * refused.
 */
const LOWER_BOUND_SHARE = 0.8;
/** Maximum UTF-8 bytes of a UTF-16 code unit. A token has at least one byte. */
const MAX_BYTES_PER_CHARACTER = 3;

/** @param exact the engine counts prompts as the gateway does. Otherwise the prompt is estimated. */
export function checkContext(input: ChatInput, { contextWindow }: Model, exact: boolean): void {
	if (contextWindow === undefined) return;
	const prompt = exact ? promptTokens(input) : estimatedPrompt(input, contextWindow);
	const total = prompt + (input.max_tokens ?? 0);
	if (total > contextWindow)
		throw new AiError(
			"contextWindowExceeded",
			`The estimated number of input and maximum output tokens (${total}) exceeded this model context window limit (${contextWindow})`,
		);
}

/** 0 for a prompt that certainly fits. Most prompts are short, and counting is the most expensive step here. */
function estimatedPrompt(input: ChatInput, contextWindow: number): number {
	const { messages, prompt, tools, max_tokens = 0 } = input;
	const texts = messages.flatMap(({ content, tool_calls }) =>
		tool_calls ? [textOf(content), JSON.stringify(tool_calls)] : [textOf(content)],
	);
	if (prompt !== undefined) texts.push(prompt);
	if (tools) texts.push(JSON.stringify(tools));
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	if (characters * MAX_BYTES_PER_CHARACTER + max_tokens <= contextWindow) return 0;
	return Math.floor(boundedTokens(texts, contextWindow / LOWER_BOUND_SHARE) * LOWER_BOUND_SHARE);
}
