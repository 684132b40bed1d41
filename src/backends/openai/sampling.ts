/** The fields of a request that `/chat/completions` and `/completions` share, under the names that engines know. */
import { AiError } from "../../core/errors.ts";
import { can } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { isOpenAiService } from "./service.ts";

export function sampling(input: ChatInput, call: Call): Record<string, unknown> {
	return {
		model: modelName(input, call),
		temperature: input.temperature,
		top_p: input.top_p,
		seed: input.seed,
		frequency_penalty: input.frequency_penalty,
		presence_penalty: input.presence_penalty,
		stop: input.stop,
		n: input.n,
		logit_bias: input.logit_bias,
		response_format: input.response_format,
		user: input.user,
		stream: input.stream,
		stream_options: input.stream ? { include_usage: true } : undefined,
		...(!isOpenAiService(call.target) && {
			top_k: input.top_k,
			// vLLM's and SGLang's name, and llama.cpp's and LM Studio's.
			repetition_penalty: input.repetition_penalty,
			repeat_penalty: input.repetition_penalty,
		}),
	};
}

/**
 * vLLM and SGLang serve an adapter as a model of its own name. Only those that the operator has declared: the name is
 * the caller's, and would otherwise reach any model of the upstream at this one's price.
 */
function modelName({ lora }: ChatInput, { model, target }: Call): string {
	if (lora === undefined) return target.model;
	if (!can(model, "lora") || isOpenAiService(target))
		throw new AiError("loraUnsupported", `The model ${model.id} does not support LoRA inference`);
	if (!target.loras?.some((known) => isNamed(lora, known)))
		throw new AiError(
			"loraUnsupported",
			`The model ${model.id} has no such LoRA here (see loras of its route)`,
		);
	return lora;
}

const isNamed = (lora: string, known: string): boolean =>
	known.endsWith("*") ? lora.startsWith(known.slice(0, -1)) : lora === known;
