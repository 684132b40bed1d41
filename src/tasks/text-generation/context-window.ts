/** Whether a prompt can fit the context window of its model (5021). */

import { AiError } from "../../core/errors.ts";
import { boundedTokens } from "../../counting/bounded-estimate.ts";
import type { Model } from "../../models/model.ts";
import { promptTokens } from "./tally.ts";
import { type ChatInput, textOf } from "./types.ts";

/** An estimate refuses only what is surely too long: some tokenizers make this share of the usual count (docs/token-counts.md). */
const SURE_SHARE = 0.8;
/** UTF-8 bytes of a UTF-16 code unit, at most; a token has at least one. */
const MOST_BYTES_OF_A_CHARACTER = 3;

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

/** 0 where the prompt fits for certain: counting costs more than everything else here, and most prompts are short. */
function estimatedPrompt(input: ChatInput, contextWindow: number): number {
	const { messages, prompt, tools, max_tokens = 0 } = input;
	const texts = messages.flatMap(({ content, tool_calls }) =>
		tool_calls ? [textOf(content), JSON.stringify(tool_calls)] : [textOf(content)],
	);
	if (prompt !== undefined) texts.push(prompt);
	if (tools) texts.push(JSON.stringify(tools));
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	if (characters * MOST_BYTES_OF_A_CHARACTER + max_tokens <= contextWindow) return 0;
	return Math.floor(boundedTokens(texts, contextWindow / SURE_SHARE) * SURE_SHARE);
}
