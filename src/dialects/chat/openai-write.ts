/** Chat replies as OpenAI has them: what the engine said, under the catalogue's name of the model. */
import * as z from "zod";
import type { Model } from "../../models/model.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { Rendered, WriteContext, Writer } from "../dialect.ts";
import { type ChatReply, chatReply } from "./call.ts";
import { functionCallEvents, hasFunctions, withFunctionCall } from "./legacy-functions.ts";
import { openAiEvents, type UsageEnding } from "./openai-stream.ts";
import { TextCompletion, textCompletion, textCompletionEvents } from "./text-completion.ts";
import { NativeUsage } from "./usage.ts";

const ToolCall = z.object({
	id: z.string(),
	type: z.literal("function"),
	function: z.object({ name: z.string(), arguments: z.string() }),
});

export const OpenAiCompletion = z.object({
	id: z.string(),
	object: z.literal("chat.completion"),
	created: z.int(),
	model: z.string(),
	choices: z.array(
		z.object({
			index: z.int(),
			message: z.object({
				role: z.literal("assistant"),
				content: z.string().nullable(),
				refusal: z.string().nullable(),
				reasoning_content: z.string().nullish(),
				tool_calls: z.array(ToolCall).nullish(),
			}),
			finish_reason: z.string(),
			logprobs: z.unknown(),
		}),
	),
	usage: NativeUsage.nullish(),
	system_fingerprint: z.string().nullish(),
});

/**
 * What ends a stream on a model's own route: the native usage frame; of a third party's model, OpenAI's usage chunk, since
 * clients read its stream as they read OpenAI's, and refuse any other frame.
 */
const endingOf = ({ id }: Model): UsageEnding => (isThirdPartyId(id) ? "chunk" : "native");

/** On a model's own route. */
export const openAiWriter: Writer = {
	schema: OpenAiCompletion,
	write(answer, context) {
		return writeOpenAi(chatReply(answer, context), context, endingOf(context.model));
	},
};

/** A call is in the older form where the caller sent `functions`. */
export function writeOpenAi(reply: ChatReply, context: WriteContext, ending: UsageEnding): Rendered {
	const isOlder = hasFunctions(context.inputs);
	if (reply.kind === "stream") {
		const events = reply.asIs ? reply.events : openAiEvents(reply.events, context, ending);
		return { kind: "events", events: isOlder ? functionCallEvents(events) : events };
	}
	const completion = openAiCompletion(reply.completion, context);
	return { kind: "json", value: isOlder ? withFunctionCall(completion) : completion };
}

const VllmCompletion = OpenAiCompletion.extend({ prompt_logprobs: z.unknown() });

/** The models that take the older inputs: a `prompt` is answered with a `text_completion`. */
export const vllmWriter: Writer = {
	schema: z.union([VllmCompletion, TextCompletion]),
	write(answer, context) {
		const reply = chatReply(answer, context);
		if (hasPrompt(context.inputs))
			return reply.kind === "stream"
				? { kind: "events", events: textCompletionEvents(reply.events, context, { usage: "native" }) }
				: { kind: "json", value: textCompletion(reply.completion, context) };
		if (reply.kind === "stream")
			return { kind: "events", events: openAiEvents(reply.events, context, "native") };
		return {
			kind: "json",
			value: { prompt_logprobs: null, ...openAiCompletion(reply.completion, context) },
		};
	},
};

const hasPrompt = (inputs: unknown): boolean =>
	typeof inputs === "object" && inputs !== null && "prompt" in inputs;

/** Everything the engine said stays; what OpenAI's form must have and the engine left out is added. */
export function openAiCompletion(
	completion: ChatCompletion,
	{ model, now, priced }: Pick<WriteContext, "model" | "now" | "priced">,
): ChatCompletion {
	const { id, object: _object, created, model: _model, choices, ...rest } = completion;
	return {
		id: id || `id-${now}`,
		object: "chat.completion",
		created: created || Math.floor(now / 1000),
		model: model.id,
		choices: choices.map((choice, place) => ({
			...choice,
			index: choice.index ?? place,
			message: {
				...choice.message,
				role: "assistant",
				content: choice.message.content ?? null,
				refusal: choice.message.refusal ?? null,
			},
			finish_reason: choice.finish_reason || "stop",
			logprobs: choice.logprobs ?? null,
		})),
		...rest,
		...(rest.usage && { usage: priced(rest.usage) }),
	};
}
