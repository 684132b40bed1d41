/** Whether a call can fit its model, before anything is spent on it. Only what is surely too long is refused. */
import { AiError } from "../errors.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { textOf } from "../tasks/text-generation.ts";
import { approximateTokens } from "../tokens.ts";

/** Some tokenizers make so much less of a text than the usual one (docs/token-counts.md). */
const SURE_SHARE = 0.8;
/** UTF-8 bytes of a UTF-16 code unit, at most; a token has at least one. */
const MOST_BYTES_OF_A_CHARACTER = 3;

export function fitContext(call: TaskCall, model: Model): void {
	if (call.task === "text-generation" && model.contextWindow !== undefined) {
		const { messages, prompt, tools, max_tokens = 0 } = call.input;
		const texts = messages.flatMap(({ content, tool_calls }) =>
			tool_calls ? [textOf(content), JSON.stringify(tool_calls)] : [textOf(content)],
		);
		if (prompt !== undefined) texts.push(prompt);
		if (tools) texts.push(JSON.stringify(tools));
		const characters = texts.reduce((sum, { length }) => sum + length, 0);
		// Most requests are far from it, and counting costs more than all else here.
		if (characters * MOST_BYTES_OF_A_CHARACTER + max_tokens <= model.contextWindow) return;
		const wanted = Math.floor(approximateTokens(texts) * SURE_SHARE) + max_tokens;
		if (wanted > model.contextWindow)
			throw new AiError(
				"contextWindowExceeded",
				`The estimated number of input and maximum output tokens (${wanted}) exceeded this model context window limit (${model.contextWindow})`,
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
