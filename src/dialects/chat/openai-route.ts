/**
 * `/ai/v1/chat/completions`: OpenAI's chat body for every chat model, answered as OpenAI does. Where the route is strict,
 * a model's own schema holds here too (observed: a model whose messages are text refuses parts), and fields that it does
 * not know are OpenAI's. Where it is lenient, `null` means "not set" and OpenAI's ranges hold. The defaults are the
 * model's own.
 *
 * Choice where the product is silent: usage comes as OpenAI's usage chunk when asked for and in no other form.
 */

import * as z from "zod";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import { skipAbsent } from "../../schemas/skip-absent.ts";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent, perModel, present } from "../fields.ts";
import { chatCall, chatReply } from "./call.ts";
import { contentRules } from "./content-rules.ts";
import { errorFrame } from "./errors.ts";
import { mayMendCall } from "./forced-call.ts";
import { withTools } from "./legacy-functions.ts";
import { readMessages } from "./messages.ts";
import { messageFields, nativeChatFields } from "./native-fields.ts";
import { checkLora } from "./native-read.ts";
import {
	AnyResponseFormat,
	OpenAiMessage,
	openAiFields,
	PlainMessage,
	SharedMessage,
} from "./openai-fields.ts";
import { readOpenAi } from "./openai-read.ts";
import { OpenAiCompletion, writeOpenAi } from "./openai-write.ts";

/** Known to this route, not to a model's own. All but `guided_json` go to the engine as they are. */
const ROUTE_FIELDS = {
	guided_json: z.looseObject({}).nullish(),
	verbosity: z.enum(["low", "medium", "high"]).nullish(),
	prompt_cache_key: z.string().nullish(),
	safety_identifier: z.string().nullish(),
};

function schema(model: Model, strict: boolean) {
	const common = {
		...openAiFields(model, strict),
		...ROUTE_FIELDS,
		response_format: AnyResponseFormat.nullish(),
	};
	const message = contentRules(model).textOnly ? PlainMessage : OpenAiMessage;
	const messages = z.array(message);
	// The product's word for "do not think" is a null.
	if (!strict)
		return nullAsAbsent(skipAbsent(z.object({ messages, ...common })), { meant: ["reasoning_effort"] });
	const { native } = inputFamily(model);
	if (!native) return skipAbsent(z.object({ messages, ...common }));
	const ownMessages = z.array(z.object({ ...SharedMessage, ...messageFields(native, strict) }));
	return skipAbsent(z.object({ ...common, ...nativeChatFields(model, native), messages: ownMessages }));
}

export const openaiChat: Dialect = {
	reader: {
		schema: perModel(schema),
		read(inputs: z.output<ReturnType<typeof schema>>, model) {
			const rules = {
				contentOptional: inputFamily(model).native?.content === "media",
				...contentRules(model),
			};
			checkLora(inputs, model);
			const { guided_json, verbosity, prompt_cache_key, safety_identifier } = inputs;
			// vLLM's name for it.
			const guided = guided_json && { type: "json_schema" as const, json_schema: guided_json };
			const response_format = inputs.response_format ?? guided;
			const messages = readMessages(inputs.messages, rules);
			const chat = readOpenAi({ ...withTools(inputs), response_format }, messages);
			const own = present({ verbosity, prompt_cache_key, safety_identifier });
			if (Object.keys(own).length > 0) chat.passthrough = { ...chat.passthrough, ...own };
			return chatCall(chat);
		},
	},
	writer: {
		schema: OpenAiCompletion,
		write(answer, context) {
			const ending = asksForUsage(context.inputs) ? "chunk" : "none";
			return writeOpenAi(chatReply(answer, context), context, ending);
		},
		passesOn: (call, model) =>
			call.task === "text-generation" && call.input.stream && !mayMendCall(call.input, model)
				? errorFrame
				: undefined,
	},
};

const StreamOptions = z.object({ stream_options: z.object({ include_usage: z.literal(true) }) });

export const asksForUsage = (inputs: unknown): boolean => StreamOptions.safeParse(inputs).success;
