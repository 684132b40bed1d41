/**
 * Reads Responses requests (platform.openai.com/docs/api-reference/responses/create).
 *
 * Known differences: references to stored objects are refused, which `src/responses` replaces before; tools that OpenAI hosts are dropped
 * (`tools.ts`); `truncation` is accepted and ignored; the full reasoning is returned, never a `summary`.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ChatInput, ResponseFormat } from "../../tasks/text-generation/types.ts";
import { contentRules } from "../chat/messages.ts";
import { Effort } from "../chat/openai-fields.ts";
import { defaulted, nullAsAbsent, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { Input, readInput } from "./input.ts";
import { hasOwnSummary, requestsCompaction } from "./summary.ts";
import { Choice, readToolFields, Tools } from "./tools.ts";

const Summary = z.enum(["auto", "concise", "detailed"]);

/** Each entry asks for a kind of shortening. OpenAI has one kind, `compaction`. */
const ContextManagement = z.array(
	z.looseObject({ type: z.string(), compact_threshold: z.number().int().min(1).nullish() }),
);

export const TextFormat = z.discriminatedUnion("type", [
	z.object({ type: z.literal("text") }),
	z.object({ type: z.literal("json_object") }),
	z.object({
		type: z.literal("json_schema"),
		name: z.string().min(1),
		description: z.string().nullish(),
		schema: z.record(z.string(), z.unknown()),
		strict: z.boolean().nullish(),
	}),
]);

const MAX_METADATA_PAIRS = 16;
export const Metadata = z
	.record(z.string().max(64), z.string().max(512))
	.refine((pairs) => Object.keys(pairs).length <= MAX_METADATA_PAIRS, `at most ${MAX_METADATA_PAIRS} pairs`);

/** Loose, so that unknown fields stay in the request that is forwarded unchanged to an upstream with this API. */
export const ResponsesRequest = z.looseObject({
	input: Input,
	instructions: z.string().nullish(),
	stream: z.boolean().nullish(),
	max_output_tokens: z.number().int().min(1).nullish(),
	temperature: z.number().min(0).max(2).nullish(),
	top_p: z.number().min(0).max(1).nullish(),
	tools: Tools.nullish(),
	tool_choice: Choice.nullish(),
	parallel_tool_calls: z.boolean().nullish(),
	max_tool_calls: z.number().int().nullish(),
	reasoning: z.looseObject({ effort: Effort.nullish(), summary: Summary.nullish() }).nullish(),
	text: z
		.looseObject({ format: TextFormat.nullish(), verbosity: z.enum(["low", "medium", "high"]).nullish() })
		.nullish(),
	/** Optional fields of a reply. For most models only `message.output_text.logprobs` has an effect. */
	include: z.array(z.string()).nullish(),
	top_logprobs: z.number().int().min(0).max(20).nullish(),
	truncation: z.enum(["auto", "disabled"]).nullish(),
	context_management: ContextManagement.nullish(),
	metadata: Metadata.nullish(),
	user: z.string().nullish(),
	safety_identifier: z.string().nullish(),
	prompt_cache_key: z.string().nullish(),
	service_tier: z.enum(["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]).nullish(),
	stream_options: z.looseObject({}).nullish(),
	store: z.boolean().nullish(),
	background: z.boolean().nullish(),
	previous_response_id: z.string().nullish(),
	conversation: z.union([z.string(), z.looseObject({})]).nullish(),
	prompt: z.looseObject({}).nullish(),
});
export type ResponsesRequest = z.output<typeof ResponsesRequest>;

/**
 * With the defaults of the model's chat form. The defaults of gpt-oss apply only to its chat form: their limit would end
 * the answer of a reasoning model early.
 */
export const responsesSchema = perModel((model): z.ZodType<ResponsesRequest> => {
	if (inputFamily(model).withoutResponsesDefaults) return nullAsAbsent(ResponsesRequest);
	const { stream, max_output_tokens, temperature, top_p, parallel_tool_calls } = ResponsesRequest.shape;
	return nullAsAbsent(
		ResponsesRequest.extend({
			stream: defaulted(model, "stream", stream),
			max_output_tokens: defaulted(model, "max_tokens", max_output_tokens),
			temperature: defaulted(model, "temperature", temperature),
			top_p: defaulted(model, "top_p", top_p),
			parallel_tool_calls: defaulted(model, "parallel_tool_calls", parallel_tool_calls),
		}),
	);
});

/** Fields that require stored responses, which do not exist here. */
const STATEFUL = ["previous_response_id", "conversation", "prompt", "background"] as const;

/** Throws 5006 for content that the model does not accept, 8001 for unsupported fields. */
export function readRequest(request: ResponsesRequest, model: Model): ChatInput {
	for (const field of STATEFUL)
		if (request[field])
			throw invalidInput(`${field}: not supported here, only POST /v1/responses knows stored objects`);
	const { max_output_tokens, temperature, top_p, user, parallel_tool_calls } = request;
	// The tools stay, because they are the beginning of the prompt that the engine has in its cache.
	const summarizes = requestsCompaction(request.input);
	const offered = readToolFields(summarizes ? { ...request, tool_choice: "none" } : request);
	const read = readInput(request.input, request.instructions, contentRules(model));
	const dropped = [
		...(offered.dropped ?? []),
		...(read.dropped ?? []),
		// `src/responses` removes the field of a request that it compacts. OpenAI's service compacts by itself.
		...(request.context_management ? ["context_management"] : []),
	];
	const format = request.text?.format;
	const { effort, summary } = request.reasoning ?? {};
	const passthrough = passthroughFields(request);
	return {
		messages: read.messages,
		stream: request.stream ?? false,
		...present({ max_tokens: max_output_tokens, temperature, top_p }),
		...logprobFields(request),
		...offered,
		// OpenAI's service refuses it without tools.
		...(offered.tools && present({ parallel_tool_calls })),
		...(format && format.type !== "text" && !summarizes && { response_format: responseFormat(format) }),
		...(effort && hasField(model, "reasoning_effort") && { reasoning_effort: effort }),
		...present({ user, reasoning_summary: summary }),
		...(Object.keys(passthrough).length > 0 && { passthrough }),
		...(dropped.length > 0 && { dropped }),
		...(!summarizes &&
			!hasOwnSummary(request.input) && {
				verbatim: { dialect: "responses" as const, body: request, messages: read.messages.length },
			}),
	};
}

/**
 * Models of OpenAI's form have the fields that the catalogue lists. On OpenAI's routes any other model has all fields.
 */
const hasField = (model: Model, field: string): boolean =>
	!inputFamily(model).isOpenAiChat || (model.inputFields?.includes(field) ?? true);

function logprobFields({
	include,
	top_logprobs,
}: ResponsesRequest): Pick<ChatInput, "logprobs" | "top_logprobs"> {
	const isRequested = include?.includes("message.output_text.logprobs") || (top_logprobs ?? 0) > 0;
	return isRequested ? { logprobs: true, top_logprobs: top_logprobs ?? 0 } : {};
}

function responseFormat(format: z.output<typeof TextFormat>): ResponseFormat {
	if (format.type !== "json_schema") return format;
	const { type, description, ...schema } = format;
	return { type, json_schema: { ...schema, ...present({ description }) } };
}

// Without `metadata`: OpenAI accepts it only with `store`, and replies here say that nothing is stored.
const passthroughFields = ({
	text,
	safety_identifier,
	prompt_cache_key,
}: ResponsesRequest): Record<string, unknown> =>
	present({ verbosity: text?.verbosity, safety_identifier, prompt_cache_key });
