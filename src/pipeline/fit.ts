/** Whether a call can fit its model, before anything is spent on it. Token counts here are estimates, and low ones. */
import { AiError } from "../errors.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { textOf } from "../tasks/text-generation.ts";
import { approximateTokens } from "../tokens.ts";

export function fitContext(call: TaskCall, model: Model): void {
	if (call.task === "text-generation" && model.contextWindow !== undefined) {
		const { messages, prompt, tools, max_tokens } = call.input;
		const texts = messages.map(
			({ content, tool_calls }) => textOf(content) + JSON.stringify(tool_calls ?? ""),
		);
		const wanted =
			approximateTokens([...texts, prompt ?? "", JSON.stringify(tools ?? "")]) + (max_tokens ?? 0);
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
