/** The request fields that `/chat/completions` and `/completions` share. */
import { AiError } from "../../core/errors.ts";
import { pick } from "../../core/present.ts";
import { can } from "../../models/model.ts";
import { type ChatInput, positiveTopK } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { loraUnsupported } from "../unsupported.ts";
import { type OpenAiService, serviceAt } from "./hosts.ts";

export function sampling(
	input: ChatInput,
	call: Call,
	{ host, isOpenAi }: OpenAiService,
): Record<string, unknown> {
	return {
		model: input.lora === undefined ? call.target.model : adapterName(input.lora, call),
		...pick(input, "temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "stop", "n"),
		...pick(input, "logit_bias", "response_format", "user", "stream"),
		stream_options: input.stream ? { include_usage: true } : undefined,
		...(!isOpenAi && {
			top_k: host ? positiveTopK(input) : input.top_k,
			// The names of vLLM and SGLang, and of llama.cpp and LM Studio.
			repetition_penalty: input.repetition_penalty,
			repeat_penalty: input.repetition_penalty,
			...call.target.requestFields,
		}),
	};
}

/**
 * vLLM and SGLang serve an adapter as a model with its own name. Only declared adapters are allowed: otherwise the caller
 * could name any model of the upstream, at the price of this one.
 */
function adapterName(lora: string, call: Call): string {
	const { model, target } = call;
	if (!can(model, "lora") || serviceAt(target).isOpenAi) throw loraUnsupported(call);
	if (!allowsAdapter(lora, call))
		throw new AiError(
			"loraUnsupported",
			`The model ${model.id} has no such LoRA here: it is no fine-tune of the account, and not in loras of the route`,
		);
	return lora;
}

/** Whether the route declares the adapter, which the engine has from its start. */
export const allowsAdapter = (lora: string, { target }: Call): boolean =>
	target.loras?.some((pattern) => matches(lora, pattern)) ?? false;

const matches = (lora: string, pattern: string): boolean =>
	pattern.endsWith("*") ? lora.startsWith(pattern.slice(0, -1)) : lora === pattern;
