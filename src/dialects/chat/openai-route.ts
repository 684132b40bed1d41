/**
 * `/ai/v1/chat/completions`: OpenAI's chat body for every chat model, answered as OpenAI does. A native model keeps
 * the limits of its own inputs (observed: a model whose messages are text refuses parts) and its own defaults.
 *
 * Choices where the product is silent: usage comes as OpenAI's usage chunk when asked for and in no other form; an
 * assistant's message may have no content for every model, as in OpenAI's schema.
 */
import * as z from "zod";
import type { Model } from "../../models/model.ts";
import { lean } from "../../schemas/lean.ts";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent, perModel } from "../fields.ts";
import { chatCall, chatReply } from "./call.ts";
import { contentRules } from "./content-rules.ts";
import { errorFrame } from "./errors.ts";
import { mayMendCall } from "./forced-call.ts";
import { readMessages } from "./messages.ts";
import { AnyResponseFormat, OpenAiMessage, openAiFields, PlainMessage } from "./openai-fields.ts";
import { readOpenAi } from "./openai-read.ts";
import { openAiEvents } from "./openai-stream.ts";
import { OpenAiCompletion, openAiCompletion } from "./openai-write.ts";

const schema = (model: Model) =>
	nullAsAbsent(
		lean(
			z.object({
				messages: z.array(contentRules(model).textOnly ? PlainMessage : OpenAiMessage),
				...openAiFields(model),
				response_format: AnyResponseFormat.optional(),
			}),
		),
		// The product's word for "do not think".
		{ meant: ["reasoning_effort"] },
	);

export const openaiChat: Dialect = {
	reader: {
		schema: perModel(schema),
		read(inputs: z.output<ReturnType<typeof schema>>, model) {
			const rules = { contentOptional: false, ...contentRules(model) };
			return chatCall(readOpenAi(inputs, readMessages(inputs.messages, rules)));
		},
	},
	writer: {
		schema: OpenAiCompletion,
		write(answer, context) {
			const reply = chatReply(answer, context);
			if (reply.kind === "stream") {
				if (reply.asIs) return { kind: "events", events: reply.events };
				const ending = asksForUsage(context.inputs) ? "chunk" : "none";
				return { kind: "events", events: openAiEvents(reply.events, context, ending) };
			}
			return { kind: "json", value: openAiCompletion(reply.completion, context) };
		},
		passesOn: (call, model) =>
			call.task === "text-generation" && call.input.stream && !mayMendCall(call.input, model)
				? errorFrame
				: undefined,
	},
};

const StreamOptions = z.object({ stream_options: z.object({ include_usage: z.literal(true) }) });

export const asksForUsage = (inputs: unknown): boolean => StreamOptions.safeParse(inputs).success;
