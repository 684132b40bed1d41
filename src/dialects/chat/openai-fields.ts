/**
 * OpenAI's chat body, as the product's newer models take it and as the OpenAI routes take it for all of them. Fields
 * that only OpenAI's own service knows are accepted, as the product does, and passed on.
 *
 * Known differences: `temperature` and the penalties have the ranges that the product documents, `top_p` the one that
 * OpenAI does; tools are looked at after the schema, as the product does. `top_k` and `repetition_penalty` are extensions
 * that most engines have. Read leniently, `reasoning_effort` also takes the names that OpenAI added since.
 */

import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import { skipAbsent } from "../../schemas/skip-absent.ts";
import { defaulted, fieldsOf } from "../fields.ts";
import { SCHEMA_NAME } from "./json-mode.ts";
import { AnyPart, ThinkingBlocks, toolFields } from "./messages.ts";
import { OpenAiTool } from "./tool-schemas.ts";

const ROLES = ["developer", "system", "user", "assistant", "tool", "function"] as const;
const MOST_CHOICES = 128;
const MOST_STOPS = 4;

const text = z.string();
export const SharedMessage = {
	...toolFields,
	function_call: z.unknown().optional(),
	refusal: text.nullish(),
	reasoning: text.nullish(),
	reasoning_content: text.nullish(),
	thinking_blocks: ThinkingBlocks.nullish(),
};

export const OpenAiMessage = skipAbsent(
	z.object({
		role: z.enum(ROLES),
		content: z.union([text, z.array(AnyPart)]).nullish(),
		...SharedMessage,
	}),
);

/** For models whose own schema has text and nothing else: parts are refused. */
export const PlainMessage = skipAbsent(
	z.object({
		role: z.enum(ROLES),
		content: text.nullish(),
		...SharedMessage,
	}),
);

/** Cloudflare's AI SDK provider sends every model the bare schema that only the native ones document. */
const named = (sent: unknown): unknown =>
	isRecord(sent) && !("name" in sent) && !("schema" in sent) ? { name: SCHEMA_NAME, schema: sent } : sent;

const responseFormat = <JsonObject extends z.core.$ZodTypeDiscriminable>(jsonObject: JsonObject) =>
	z.discriminatedUnion("type", [
		z.object({ type: z.literal("text") }),
		jsonObject,
		z.object({
			type: z.literal("json_schema"),
			json_schema: z.preprocess(named, z.looseObject({ name: z.string() })),
		}),
	]);
const JsonObject = z.object({ type: z.literal("json_object") });
const ResponseFormat = responseFormat(JsonObject);
/** llama.cpp takes a schema here. The product's schema does not have it. */
const LenientResponseFormat = responseFormat(JsonObject.extend({ schema: z.looseObject({}).nullish() }));

/** On the OpenAI routes callers of native models send a bare schema, as those models' own schemas have it. */
export const AnyResponseFormat = z.object({
	type: z.enum(["text", "json_object", "json_schema"]),
	json_schema: z.looseObject({}).nullish(),
	schema: z.looseObject({}).nullish(),
});

export const Effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** As the schemas of the product's models declare these; otherwise engines decide what they take. */
const DECLARED = {
	audio: z.looseObject({
		voice: z.union([text, z.looseObject({ id: text })]),
		format: z.enum(["wav", "aac", "mp3", "flac", "opus", "pcm16"]),
	}),
	functions: z.array(z.looseObject({ name: text })),
	modalities: z.array(z.enum(["text", "audio"])),
	prediction: z.looseObject({
		type: z.literal("content"),
		content: z.union([text, z.array(z.looseObject({ type: z.literal("text"), text }))]),
	}),
	reasoning_effort: z.enum(["low", "medium", "high"]),
	web_search_options: z.looseObject({
		search_context_size: z.enum(["low", "medium", "high"]).optional(),
		user_location: z
			.looseObject({
				type: z.literal("approximate").optional(),
				approximate: z.record(z.string(), text).optional(),
			})
			.optional(),
	}),
};
const OPEN = {
	audio: z.looseObject({}),
	functions: z.array(z.unknown()),
	modalities: z.array(z.string()),
	prediction: z.looseObject({}),
	reasoning_effort: Effort,
	web_search_options: z.looseObject({}),
};

/** Sampling of llama.cpp, vLLM and SGLang that the product does not have. */
const ENGINE_FIELDS = {
	min_p: z.number().nullish(),
	mirostat: z.int().nullish(),
	mirostat_tau: z.number().nullish(),
	mirostat_eta: z.number().nullish(),
	grammar: text.nullish(),
};

/** Known to OpenAI's service alone; `skip_special_tokens` to vLLM and Gemma 4. */
const passedOn = (model: Model, known: typeof DECLARED | typeof OPEN) => ({
	audio: known.audio.nullish(),
	function_call: z.unknown().optional(),
	functions: known.functions.nullish(),
	metadata: z.record(z.string(), z.unknown()).nullish(),
	modalities: known.modalities.nullish(),
	prediction: known.prediction.nullish(),
	service_tier: text.nullish(),
	// No default here: an engine that is strict about fields should not fail on one that nobody sent.
	store: z.boolean().nullish(),
	web_search_options: known.web_search_options.nullish(),
	skip_special_tokens: defaulted(model, "skip_special_tokens", z.boolean().nullable()),
	// Where the product's own schema holds, it ignores them: they are then absent, as they may be.
	...((known === OPEN ? ENGINE_FIELDS : {}) as typeof ENGINE_FIELDS),
});
export const PASSED_ON = [
	"audio",
	"function_call",
	"functions",
	"metadata",
	"modalities",
	"prediction",
	"service_tier",
	"store",
	"web_search_options",
	"skip_special_tokens",
	"min_p",
	"mirostat",
	"mirostat_tau",
	"mirostat_eta",
	"grammar",
] as const satisfies readonly (keyof ReturnType<typeof passedOn>)[];

/** All but `prompt`, `messages` and `response_format`. Native models have every field that the OpenAI routes have. */
export function openAiFields(model: Model, strict: boolean) {
	const number = (field: string, min: number, max: number) =>
		defaulted(model, field, z.number().min(min).max(max).nullable());
	const mayThink = z.boolean().optional();
	const mustThink = z.literal(true).optional();
	const isNative = !inputFamily(model).isOpenAiChat;
	// A native model's own schema knows none of these, so the product ignores them there.
	const known = strict && !isNative ? DECLARED : OPEN;
	const user = strict && !isNative ? text.optional() : text.nullish();
	return fieldsOf(
		isNative ? {} : model,
		{
			model: text.optional(),
			frequency_penalty: number("frequency_penalty", -2, 2),
			logit_bias: z.record(z.string(), z.number()).nullish(),
			logprobs: defaulted(model, "logprobs", z.boolean().nullable()),
			top_logprobs: z.int().min(0).max(20).nullish(),
			max_tokens: defaulted(model, "max_tokens", z.int().nullable()),
			max_completion_tokens: z.int().nullish(),
			n: defaulted(model, "n", z.int().min(1).max(MOST_CHOICES).nullable()),
			parallel_tool_calls: defaulted(model, "parallel_tool_calls", z.boolean()),
			presence_penalty: number("presence_penalty", -2, 2),
			reasoning_effort: known.reasoning_effort.nullish(),
			chat_template_kwargs: z.looseObject({
				enable_thinking: model.reasoningEffort?.mandatory ? mustThink : mayThink,
				clear_thinking: z.boolean().optional(),
			}),
			seed: z.int().nullish(),
			stop: z.union([text, z.array(text).min(1).max(MOST_STOPS)]).nullish(),
			stream: defaulted(model, "stream", z.boolean().nullable()),
			stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
			temperature: number("temperature", 0, 2),
			tool_choice: z.unknown(),
			tools: z.array(OpenAiTool).nullish(),
			top_p: number("top_p", 0, 1),
			top_k: z.int().min(1).nullish(),
			repetition_penalty: z.number().min(0).max(2).nullish(),
			user,
			lora: text.nullish(),
			...passedOn(model, known),
		},
		{
			with: [
				["top_k", "top_p"],
				["repetition_penalty", "top_p"],
				["service_tier", "user"],
				["skip_special_tokens", "user"],
				["lora", "user"],
			],
		},
	);
}

const prompt = text.min(1);

/** On a model's own route. */
export const openAiSchema = (model: Model, strict: boolean) => {
	const response_format = (strict ? ResponseFormat : LenientResponseFormat).nullish();
	const fields = { ...openAiFields(model, strict), response_format };
	return z.xor([
		skipAbsent(z.object({ prompt, ...fields })),
		skipAbsent(z.object({ messages: z.array(OpenAiMessage), ...fields })),
	]);
};
