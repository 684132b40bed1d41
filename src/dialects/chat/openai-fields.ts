/**
 * OpenAI's chat body: on the product's newer models' own routes, and on the OpenAI routes for all models. Fields that only
 * OpenAI's service supports are accepted, as in the product, and forwarded.
 *
 * Known differences: `temperature` and the penalties have the product's ranges, `top_p` has OpenAI's range; tools are
 * checked after the schema, as in the product. `top_k` and `repetition_penalty` are extensions of most engines. A lenient
 * route also accepts the values of `reasoning_effort` that OpenAI added later.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { inputFamily, namesOf } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import { THIRD_PARTY_SOURCE } from "../../models/third-party.ts";
import { defaulted, fieldsOf } from "../fields.ts";
import { SCHEMA_NAME } from "./json-mode.ts";
import { AnyPart, messageFields } from "./messages.ts";
import { OpenAiTool } from "./tool-schemas.ts";

const ROLES = ["developer", "system", "user", "assistant", "tool", "function"] as const;
const MAX_CHOICES = 128;
const MAX_STOPS = 4;

/** The sequences as a list. Clients send an empty one (`ChatGroq` of LangChain), which engines refuse. */
export function stopsOf(stop: string | readonly string[] | null | undefined): string[] | undefined {
	const stops = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((sequence) => sequence !== "");
	return stops.length > 0 ? stops : undefined;
}

const text = z.string();
const role = z.enum(ROLES);
const content = z.union([text, z.array(AnyPart)]).nullish();
export const OpenAiMessage = z.object({ role, content, ...messageFields });

/** For models whose own schema allows only text: parts are refused. */
export const PlainMessage = lazy(() => z.object({ role, content: text.nullish(), ...messageFields }));

/**
 * Cloudflare's AI SDK provider sends the schema without OpenAI's wrapper to every model. Only native models document
 * that.
 */
const wrapBareSchema = (sent: unknown): unknown =>
	isRecord(sent) && !("name" in sent) && !("schema" in sent) ? { name: SCHEMA_NAME, schema: sent } : sent;

const responseFormat = <JsonObject extends z.core.$ZodTypeDiscriminable>(jsonObject: JsonObject) =>
	z.discriminatedUnion("type", [
		z.object({ type: z.literal("text") }),
		jsonObject,
		z.object({
			type: z.literal("json_schema"),
			json_schema: z.preprocess(wrapBareSchema, z.looseObject({ name: z.string() })),
		}),
	]);
const JsonObject = z.object({ type: z.literal("json_object") });
const ResponseFormat = lazy(() => responseFormat(JsonObject));
/** llama.cpp accepts a schema here. The product's schema does not have it. */
const LenientResponseFormat = lazy(() =>
	responseFormat(JsonObject.extend({ schema: z.looseObject({}).nullish() })),
);

/** On the OpenAI routes callers of native models also send a bare schema, as on those models' own routes. */
export const AnyResponseFormat = z.object({
	type: z.enum(["text", "json_object", "json_schema"]),
	json_schema: z.looseObject({}).nullish(),
	schema: z.looseObject({}).nullish(),
});

export const Effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** The declarations in the schemas of the product's models. With {@link LENIENT_FIELDS} the engine decides. */
const STRICT_FIELDS = lazy(() => ({
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
}));
const LENIENT_FIELDS = {
	audio: z.looseObject({}),
	functions: z.array(z.unknown()),
	modalities: z.array(z.string()),
	prediction: z.looseObject({}),
	reasoning_effort: Effort,
	web_search_options: z.looseObject({}),
};

/** Fields of llama.cpp, vLLM and SGLang that the product does not have. */
export const ENGINE_FIELDS = {
	min_p: z.number().nullish(),
	typical_p: z.number().nullish(),
	mirostat: z.int().nullish(),
	mirostat_tau: z.number().nullish(),
	mirostat_eta: z.number().nullish(),
	grammar: text.nullish(),
	guided_choice: z.array(text).nullish(),
	guided_regex: text.nullish(),
	guided_grammar: text.nullish(),
	structured_outputs: z.looseObject({}).nullish(),
	regex: text.nullish(),
	ebnf: text.nullish(),
	bad_words: z.array(text).nullish(),
	stop_token_ids: z.array(z.int()).nullish(),
	min_tokens: z.int().min(0).nullish(),
	ignore_eos: z.boolean().nullish(),
};

/** -1 (vLLM, SGLang) and 0 (llama.cpp, Ollama): all tokens. */
export const LENIENT_TOP_K = z.int().min(-1).nullish();

/** Mistral's clients send "any" for OpenAI's "required". */
const LENIENT_TOOL_CHOICE = z.unknown().transform((choice) => (choice === "any" ? "required" : choice));

/** Fields that only OpenAI's service supports. */
const serviceFields = (declared: ReturnType<typeof STRICT_FIELDS> | typeof LENIENT_FIELDS) => ({
	audio: declared.audio.nullish(),
	function_call: z.unknown().optional(),
	functions: declared.functions.nullish(),
	metadata: z.record(z.string(), z.unknown()).nullish(),
	modalities: declared.modalities.nullish(),
	prediction: declared.prediction.nullish(),
	service_tier: text.nullish(),
	// No default: an engine that refuses unknown fields must not receive a field that the caller did not send.
	store: z.boolean().nullish(),
	web_search_options: declared.web_search_options.nullish(),
});

/** Fields that are forwarded unchanged. */
export const PASSTHROUGH_FIELDS = [
	...namesOf(serviceFields(LENIENT_FIELDS)),
	"skip_special_tokens",
	...namesOf(ENGINE_FIELDS),
] as const;

/** All fields except `prompt`, `messages` and `response_format`. Native models have every field of the OpenAI routes. */
export function openAiFields(model: Model, strict: boolean) {
	const number = (field: string, min: number, max: number) =>
		defaulted(model, field, z.number().min(min).max(max).nullable());
	const thinkingSwitch = z.boolean().optional();
	const thinkingRequired = z.literal(true).optional();
	const isNative = !inputFamily(model).isOpenAiChat;
	// A native model's own schema has none of these fields, so the product ignores their types. A provider validates its own models.
	const isStrict = strict && !isNative && model.source !== THIRD_PARTY_SOURCE;
	const declared = isStrict ? STRICT_FIELDS() : LENIENT_FIELDS;
	const user = isStrict ? text.optional() : text.nullish();
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
			n: defaulted(model, "n", z.int().min(1).max(MAX_CHOICES).nullable()),
			parallel_tool_calls: defaulted(model, "parallel_tool_calls", z.boolean()),
			presence_penalty: number("presence_penalty", -2, 2),
			reasoning_effort: declared.reasoning_effort.nullish(),
			chat_template_kwargs: z.looseObject({
				enable_thinking: model.reasoningEffort?.mandatory ? thinkingRequired : thinkingSwitch,
				clear_thinking: z.boolean().optional(),
			}),
			seed: z.int().nullish(),
			stop: z.union([text, z.array(text).max(MAX_STOPS)]).nullish(),
			stream: defaulted(model, "stream", z.boolean().nullable()),
			stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
			temperature: number("temperature", 0, 2),
			tool_choice: strict ? z.unknown() : LENIENT_TOOL_CHOICE,
			tools: z.array(OpenAiTool).nullish(),
			top_p: number("top_p", 0, 1),
			top_k: strict ? z.int().min(1).nullish() : LENIENT_TOP_K,
			repetition_penalty: z.number().min(0).max(2).nullish(),
			user,
			lora: text.nullish(),
			...serviceFields(declared),
			// Fields of vLLM and Gemma 4.
			skip_special_tokens: defaulted(model, "skip_special_tokens", z.boolean().nullable()),
			// The product ignores them, so a strict schema drops them. All of them are optional.
			...((declared === LENIENT_FIELDS ? ENGINE_FIELDS : {}) as typeof ENGINE_FIELDS),
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

/** The schema of a model's own route. */
export const openAiSchema = (model: Model, strict: boolean) => {
	const response_format = (strict ? ResponseFormat() : LenientResponseFormat()).nullish();
	const fields = { ...openAiFields(model, strict), response_format };
	return z.xor([z.object({ prompt, ...fields }), z.object({ messages: z.array(OpenAiMessage), ...fields })]);
};
