/** Refusals of a kind of backend, before it calls its upstream. */
import { AiError } from "../core/errors.ts";
import type { ChatInput } from "../tasks/text-generation/types.ts";
import { type Call, failureOfTarget } from "./transport/upstream-failure.ts";

/** For features that another target may have. The message is "The backend 'x'" and `problem`. */
export const unsupported = ({ target }: Call, problem: string): AiError =>
	failureOfTarget(target, "engineRefused", problem, { retryable: true });

export const loraUnsupported = ({ model }: Call): AiError =>
	new AiError("loraUnsupported", `The model ${model.id} does not support LoRa inference`);

/** For kinds without adapters and with one answer a request. */
export function refuseLoraAndChoices({ lora, n }: ChatInput, call: Call): void {
	if (lora !== undefined) throw loraUnsupported(call);
	if (n !== undefined && n > 1) throw unsupported(call, "gives one answer a request");
}
