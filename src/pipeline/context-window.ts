/** Checks that a call can fit the context window of its model (5021), before it is reserved. */
import { AiError } from "../core/errors.ts";
import { approximateTokens } from "../counting/token-estimate.ts";
import { promptTokens } from "../metering/measure.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { type ChatInput, textOf } from "../tasks/text-generation/types.ts";
import type { Routed } from "./plan.ts";

/** An estimate must refuse only prompts that are certainly too long: some tokenizers need only this share of the usual count (docs/token-counts.md). */
const MIN_TOKEN_SHARE = 0.8;
/** UTF-8 bytes of a UTF-16 code unit, at most; a token has at least one. */
const MOST_BYTES_OF_A_CHARACTER = 3;

/** Exact for the simulator, which counts prompts as the gateway does. For every other engine the prompt is estimated. */
export function fitContext(call: TaskCall, model: Model, routed?: Pick<Routed, "targets">): undefined {
	if (call.task === "text-generation" && model.contextWindow !== undefined) {
		const { input } = call;
		const isSimulated = routed?.targets.every(({ kind }) => kind === "simulator");
		const prompt = isSimulated ? promptTokens(input) : estimatedPrompt(input, model.contextWindow);
		const total = prompt + (input.max_tokens ?? 0);
		if (total > model.contextWindow)
			throw new AiError(
				"contextWindowExceeded",
				`The estimated number of input and maximum output tokens (${total}) exceeded this model context window limit (${model.contextWindow})`,
			);
	}
	if (call.task === "text-embeddings" && model.input === "embeddings-m3" && !call.input.truncate) {
		const longest = call.input.texts.reduce((most, text) => Math.max(most, approximateTokens([text])), 0);
		if (model.maxInputTokens !== undefined && longest > model.maxInputTokens)
			throw new AiError("refusedByModel", `Sequence too long: ${longest} > ${model.maxInputTokens}`);
		const all = approximateTokens(call.input.texts);
		if (model.contextWindow !== undefined && all > model.contextWindow)
			throw new AiError(
				"refusedByModel",
				`Max context reached ${all} tokens but model supports only ${model.contextWindow}`,
			);
	}
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
	return Math.floor(approximateTokens(texts) * MIN_TOKEN_SHARE);
}
