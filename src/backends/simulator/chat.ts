/** Text generation: generated replies as an OpenAI `chat.completion`, or as the events of a stream. */
import { AiError } from "../../core/errors.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ChatChoice, ChatInput } from "../../tasks/text-generation/types.ts";
import { productAdapter } from "../adapters.ts";
import type { BackendServices, CallContext, Target } from "../backend.ts";
import { type Generated, generate, usageOf } from "./generation.ts";
import { logprobsOf } from "./logprobs.ts";
import { chunks, eventStream } from "./stream.ts";

/** Marks each reply as simulated, in OpenAI's field for the build of an engine. */
const FINGERPRINT = "ganglion-simulator";

export async function textGeneration(
	sent: ChatInput,
	{ model, signal, adapters }: CallContext,
	target: Target,
	services: BackendServices,
): Promise<Answer<"text-generation">> {
	if (signal.aborted) throw new AiError("aborted");
	const input =
		sent.lora === undefined ? sent : { ...sent, lora: await productAdapter(sent.lora, { adapters, model }) };
	const now = services.now();
	const first = generate(input, { model, uuid: () => services.uuid() });
	// The simulator is deterministic: the choices differ only in the ids of their calls.
	const choices = Array.from({ length: input.n ?? 1 }, (_, index) =>
		index === 0 ? first : withNewCallIds(first, services),
	);
	const head = {
		id: `chatcmpl-${services.uuid().replaceAll("-", "")}`,
		created: Math.floor(now / 1000),
		model: target.model,
		system_fingerprint: FINGERPRINT,
	};
	const usage = usageOf(input, choices);
	if (input.stream) return { kind: "stream", ...eventStream(chunks(head, choices, usage, input), signal) };
	return {
		kind: "value",
		output: {
			...head,
			object: "chat.completion",
			choices: choices.map((choice, index) => choiceOf(choice, index, input)),
			usage,
		},
	};
}

const withNewCallIds = (generated: Generated, services: BackendServices): Generated => ({
	...generated,
	calls: generated.calls.map((call) => ({
		...call,
		id: `chatcmpl-tool-${services.uuid().replaceAll("-", "")}`,
	})),
});

function choiceOf(generated: Generated, index: number, input: ChatInput): ChatChoice {
	const { reasoning, content, calls, finish_reason, stopSequence } = generated;
	return {
		index,
		message: {
			role: "assistant",
			content: calls.length > 0 ? null : content.join(""),
			refusal: null,
			...(reasoning === undefined ? {} : { reasoning_content: reasoning.join("") }),
			...(calls.length === 0
				? {}
				: {
						tool_calls: calls.map(({ id, name, arguments: args }) => ({
							id,
							type: "function" as const,
							function: { name, arguments: args.join("") },
						})),
					}),
		},
		logprobs: logprobsOf(input, content),
		finish_reason,
		...(stopSequence !== undefined && { stop_reason: stopSequence }),
	};
}
