/**
 * OpenAI's chat body: for models whose own format it is (`openAiReader`), and for every chat model at `/ai/v1/chat/completions`
 * (`openaiChat`), with OpenAI's replies.
 *
 * On a strict route the model's own schema also applies (observed: a model with text-only messages refuses parts), and OpenAI's schema
 * applies to all other fields. On a lenient route `null` means "not set" and OpenAI's ranges apply. The defaults are the model's own.
 *
 * Choice where the product documents nothing: streams have OpenAI's usage chunk only if the caller requests it.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { pick, present } from "../../core/present.ts";
import { inputFamily } from "../../models/family.ts";
import { isOperatorModel, type Model } from "../../models/model.ts";
import type { ChatInput, ChatMessage } from "../../tasks/text-generation/types.ts";
import type { Dialect, Reader } from "../dialect.ts";
import { nullAsAbsent, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { breakpointOf } from "./cache-control.ts";
import { chatCall, chatReply, checkLora } from "./call.ts";
import { customNames } from "./custom-tools.ts";
import { errorFrame } from "./errors.ts";
import { mayRepairForcedCall } from "./forced-call.ts";
import { readResponseFormat } from "./json-mode.ts";
import { contentRules, messageFields, readMessages } from "./messages.ts";
import { nativeChatFields, nativeMessageFields } from "./native-fields.ts";
import {
	AnyResponseFormat,
	OpenAiMessage,
	openAiFields,
	openAiSchema,
	PASSTHROUGH_FIELDS,
	PlainMessage,
	stopsOf,
} from "./openai-fields.ts";
import { writeOpenAi } from "./openai-write.ts";
import { chooseTools, functionsToTools, hasFunctions, readOpenAiTools } from "./tools.ts";
import { costComment } from "./usage.ts";

/** Fields of this route that are forwarded unchanged. No model's own route has them. */
const FORWARDED_FIELDS = {
	verbosity: z.enum(["low", "medium", "high"]).nullish(),
	prompt_cache_key: z.string().nullish(),
	prompt_cache_options: z.looseObject({}).nullish(),
	prompt_cache_retention: z.string().nullish(),
	safety_identifier: z.string().nullish(),
};

/** Fields of this route that no model's own route has. */
const ROUTE_FIELDS = {
	...FORWARDED_FIELDS,
	guided_json: z.looseObject({}).nullish(),
	cache_control: z.unknown().optional(),
};

function schema(model: Model, strict: boolean) {
	const common = {
		...openAiFields(model, strict),
		...ROUTE_FIELDS,
		response_format: AnyResponseFormat.nullish(),
	};
	const message = contentRules(model).textOnly ? PlainMessage() : OpenAiMessage;
	const messages = z.array(message);
	// In the product `reasoning_effort: null` disables reasoning.
	if (!strict) return nullAsAbsent(z.object({ messages, ...common }), { keepNull: ["reasoning_effort"] });
	const { native } = inputFamily(model);
	if (!native) return z.object({ messages, ...common });
	const nativeMessages = z.array(z.object({ ...messageFields, ...nativeMessageFields(native, strict) }));
	return z.object({ ...common, ...nativeChatFields(model, native), messages: nativeMessages });
}

const messageRules = perModel((model) => ({
	contentOptional: inputFamily(model).native?.content === "media",
	...contentRules(model),
}));

export const openaiChat: Dialect = {
	reader: {
		schema: perModel(schema),
		read(inputs: z.output<ReturnType<typeof schema>>, model) {
			checkLora(inputs, model);
			const { guided_json } = inputs;
			// vLLM's name for a response format.
			const guided = guided_json && { type: "json_schema" as const, json_schema: guided_json };
			const response_format = inputs.response_format ?? guided;
			const messages = readMessages(inputs.messages, messageRules(model));
			const chat = readOpenAi({ ...withTools(inputs), response_format }, messages);
			return chatCall(inputs.cache_control ? Object.assign(chat, breakpointOf(inputs)) : chat);
		},
	},
	writer: {
		write(answer, context) {
			const reply = chatReply(answer, context);
			if (!requestsUsage(context.inputs)) return writeOpenAi(reply, context, "none");
			return writeOpenAi(reply, context, isOperatorModel(context.model) ? "engine" : "chunk");
		},
		canPassThrough({ call, inputs }, model) {
			if (call.task !== "text-generation" || !call.input.stream) return { why: "the answer is not a stream" };
			const { functions, tools } = isRecord(inputs) ? inputs : {};
			if (functions && hasFunctions(inputs)) return { why: "calls of `functions` have the older format" };
			if (tools && customNames(inputs).size > 0) return { why: "calls of custom tools are rewritten" };
			if (call.input.tool_choice !== undefined && mayRepairForcedCall(call.input, model))
				return { why: "the text of the answer may have to become the forced tool call" };
			const offersTools = (call.input.tools?.length ?? 0) > 0;
			return {
				formatError: errorFrame,
				formatCost: costComment,
				requestsUsage: requestsUsage(inputs),
				offersTools,
			};
		},
	},
};

export const requestsUsage = (inputs: unknown): boolean =>
	isRecord(inputs) && isRecord(inputs.stream_options) && inputs.stream_options.include_usage === true;

export const openAiReader: Reader = {
	schema: perModel(openAiSchema),
	read(inputs: z.output<ReturnType<typeof openAiSchema>>, model) {
		checkLora(inputs, model);
		const messages: ChatMessage[] =
			"prompt" in inputs
				? [{ role: "user", content: inputs.prompt }]
				: readMessages(inputs.messages, { contentOptional: false, embeddedImages: false });
		return chatCall(readOpenAi(withTools(inputs), messages));
	},
};

type OpenAiInputs = z.output<z.ZodObject<ReturnType<typeof openAiFields>>> & {
	response_format?:
		| { type: "text" | "json_object" | "json_schema"; json_schema?: unknown; schema?: unknown }
		| null
		| undefined;
};

/** The legacy form has fields of its own. */
const withTools = <Inputs extends OpenAiInputs>(inputs: Inputs): Inputs =>
	inputs.functions ? functionsToTools(inputs) : inputs;

function readOpenAi(inputs: OpenAiInputs, messages: ChatMessage[]): ChatInput {
	const { stop, response_format, reasoning_effort, parallel_tool_calls } = inputs;
	// OpenAI and vLLM refuse it as well: without `logprobs` the answer has no field for them.
	if (inputs.top_logprobs && !inputs.logprobs) throw invalidInput("top_logprobs: logprobs must be true");
	const hasTools = inputs.tools?.length || (inputs.tool_choice ?? undefined) !== undefined;
	const offered = hasTools ? chooseTools(readOpenAiTools(inputs.tools), inputs.tool_choice) : {};
	const passthrough = passthroughOf(inputs);
	return {
		messages,
		stream: inputs.stream ?? false,
		...offered,
		...present({
			max_tokens: inputs.max_completion_tokens ?? inputs.max_tokens,
			...pick(inputs, "temperature", "top_p", "top_k", "seed", "n", "logprobs", "top_logprobs", "logit_bias"),
			...pick(inputs, "frequency_penalty", "presence_penalty", "repetition_penalty"),
			stop: stop ? stopsOf(stop) : undefined,
			// OpenAI's service refuses it without tools.
			parallel_tool_calls: offered.tools && parallel_tool_calls,
			response_format: response_format && readResponseFormat(response_format),
			...pick(inputs, "chat_template_kwargs", "user", "lora"),
		}),
		...(reasoning_effort !== undefined && { reasoning_effort }),
		...(passthrough && { passthrough }),
		takesReasoningDetails: true,
	};
}

const PASSED: ReadonlySet<string> = new Set([...PASSTHROUGH_FIELDS, ...Object.keys(FORWARDED_FIELDS)]);

/** The fields that are forwarded unchanged, if there are any. Looks only at those that were sent. */
function passthroughOf(inputs: object): Record<string, unknown> | undefined {
	let passthrough: Record<string, unknown> | undefined;
	for (const [name, value] of Object.entries(inputs)) {
		if (value === undefined || value === null || !PASSED.has(name)) continue;
		passthrough ??= {};
		passthrough[name] = value;
	}
	return passthrough;
}
