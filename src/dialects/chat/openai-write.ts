/** Writes OpenAI chat replies: the engine's reply with the catalogue's name of the model. */
import * as z from "zod";
import type { Model } from "../../models/model.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { NativeWriter, Rendered, WriteContext } from "../dialect.ts";
import { type ChatReply, chatReply, chatWriter } from "./call.ts";
import { hasFunctions, legacyFunctionEvents, toLegacyCompletion } from "./legacy-functions.ts";
import { OpenAiCall } from "./native-write.ts";
import { openAiEvents, type UsageEnding } from "./openai-stream.ts";
import { TextCompletion, textCompletion, textCompletionEvents } from "./text-completion.ts";
import { NativeUsage } from "./usage.ts";

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
				tool_calls: z.array(OpenAiCall).nullish(),
			}),
			finish_reason: z.string(),
			logprobs: z.unknown(),
		}),
	),
	usage: NativeUsage.nullish(),
	system_fingerprint: z.string().nullish(),
});

/**
 * The end of a stream on a model's own route: the native usage event. Streams of third-party models end with OpenAI's usage
 * chunk, because their clients read them as OpenAI's streams and refuse other events.
 */
const endingOf = ({ id }: Model): UsageEnding => (isThirdPartyId(id) ? "chunk" : "native");

/** The writer of a model's own route. */
export const openAiWriter: NativeWriter = {
	schema: OpenAiCompletion,
	write(answer, context) {
		return writeOpenAi(chatReply(answer, context), context, endingOf(context.model));
	},
};

/** If the caller sent `functions`, a call is written in the legacy form. */
export function writeOpenAi(reply: ChatReply, context: WriteContext, ending: UsageEnding): Rendered {
	const isLegacy = hasFunctions(context.inputs);
	if (reply.kind === "stream") {
		const events = reply.hasErrorFrame ? reply.events : openAiEvents(reply.events, context, ending);
		return { kind: "events", events: isLegacy ? legacyFunctionEvents(events) : events };
	}
	const completion = openAiCompletion(reply.completion, context);
	return { kind: "json", value: isLegacy ? toLegacyCompletion(completion) : completion };
}

const VllmCompletion = OpenAiCompletion.extend({ prompt_logprobs: z.unknown() });

/** For models that also accept legacy inputs: the answer to a `prompt` is a `text_completion`. */
export const vllmWriter: NativeWriter = {
	schema: z.union([VllmCompletion, TextCompletion]),
	...chatWriter({
		value: (completion, context) =>
			hasPrompt(context.inputs)
				? textCompletion(completion, context)
				: { prompt_logprobs: null, ...openAiCompletion(completion, context) },
		events: (events, context) =>
			hasPrompt(context.inputs)
				? textCompletionEvents(events, context, { usage: "native" })
				: openAiEvents(events, context, "native"),
	}),
};

const hasPrompt = (inputs: unknown): boolean =>
	typeof inputs === "object" && inputs !== null && "prompt" in inputs;

/** Keeps all fields of the engine and adds the required fields of OpenAI's form that the engine omitted. */
export function openAiCompletion(
	completion: ChatCompletion,
	{ model, now, withCost }: Pick<WriteContext, "model" | "now" | "withCost">,
): ChatCompletion {
	const { id, object: _object, created, model: _model, choices, ...fields } = completion;
	return {
		id: id || `id-${now}`,
		object: "chat.completion",
		created: created || Math.floor(now / 1000),
		model: model.id,
		choices: choices.map((choice, position) => ({
			...choice,
			index: choice.index ?? position,
			message: {
				...choice.message,
				role: "assistant",
				content: choice.message.content ?? null,
				refusal: choice.message.refusal ?? null,
			},
			finish_reason: choice.finish_reason || "stop",
			logprobs: choice.logprobs ?? null,
		})),
		...fields,
		...(fields.usage && { usage: withCost(fields.usage) }),
	};
}
