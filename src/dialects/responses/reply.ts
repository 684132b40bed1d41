/**
 * Converts chat completions to OpenAI's `response` objects.
 *
 * Known differences: `id` has the product's form (`id-` and milliseconds). `store` is always false and `service_tier`
 * always `default`: they describe the answer, not the request.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { Usage } from "../../core/usage.ts";
import type {
	AssistantMessage,
	ChatChoice,
	ChatCompletion,
	SignatureField,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import { reasoningOf } from "../chat/chunks.ts";
import { sourcesOf } from "../chat/citations.ts";
import { unfinishedAnswer } from "../chat/events.ts";
import { sealOfBlock, sealOfField, UniqueSeals } from "../chat/sealed.ts";
import type { WriteContext } from "../dialect.ts";
import { ResponsesError } from "./errors.ts";
import {
	type AnswerItem,
	type Logprob,
	newCall,
	newCallId,
	newMessage,
	newReasoning,
	OutputItem,
	type Part,
	type ReasoningItem,
	readCitations,
	readLogprobs,
	sealedReasoning,
	setArguments,
	setStatus,
} from "./items.ts";
import { type ResponsesRequest, TextFormat } from "./request.ts";
import { toolNames } from "./tool-names.ts";

/** OpenAI's default of `temperature` and `top_p`. Clients (Hugging Face's) refuse a response without a number. */
const DEFAULT_SAMPLING = 1;

import { annotationsIn, searchItem } from "./web-search.ts";

const IncompleteReason = z.enum(["max_output_tokens", "content_filter"]);
type IncompleteReason = z.output<typeof IncompleteReason>;

const ResponseUsage = z.object({
	input_tokens: z.number(),
	input_tokens_details: z.object({ cached_tokens: z.number() }),
	output_tokens: z.number(),
	output_tokens_details: z.object({ reasoning_tokens: z.number() }),
	total_tokens: z.number(),
});

export const ResponseObject = z.object({
	id: z.string(),
	object: z.literal("response"),
	/** Seconds. */
	created_at: z.number(),
	status: z.enum(["in_progress", "completed", "incomplete", "failed"]),
	background: z.literal(false),
	error: ResponsesError().nullable(),
	incomplete_details: z.object({ reason: IncompleteReason }).nullable(),
	instructions: z.string().nullable(),
	max_output_tokens: z.number().nullable(),
	max_tool_calls: z.number().nullable(),
	model: z.string(),
	output: z.array(OutputItem),
	parallel_tool_calls: z.boolean(),
	previous_response_id: z.null(),
	prompt_cache_key: z.string().nullable(),
	reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
	safety_identifier: z.string().nullable(),
	service_tier: z.literal("default"),
	store: z.literal(false),
	temperature: z.number(),
	text: z.object({ format: TextFormat, verbosity: z.string().optional() }),
	tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
	tools: z.array(z.looseObject({ type: z.string() })),
	top_logprobs: z.number(),
	top_p: z.number(),
	truncation: z.enum(["auto", "disabled"]),
	usage: ResponseUsage.nullable(),
	user: z.string().nullable(),
	metadata: z.record(z.string(), z.string()),
});
export type ResponseObject = z.output<typeof ResponseObject>;

/** The result of a response. The other fields of a response object repeat the request. */
export interface ResponseOutcome {
	status: ResponseObject["status"];
	output: OutputItem[];
	usage?: Usage | null | undefined;
	incomplete?: IncompleteReason | undefined;
	error?: ResponsesError | undefined;
}

export function responseObject(
	{ inputs, model, now }: WriteContext,
	outcome: ResponseOutcome,
): ResponseObject {
	const request = inputs as ResponsesRequest; // the reader of this dialect parsed it
	const { reasoning, text } = request;
	return {
		id: `id-${now}`,
		object: "response",
		created_at: Math.floor(now / 1000),
		status: outcome.status,
		background: false,
		error: outcome.error ?? null,
		incomplete_details: outcome.incomplete ? { reason: outcome.incomplete } : null,
		instructions: request.instructions ?? null,
		max_output_tokens: request.max_output_tokens ?? null,
		max_tool_calls: request.max_tool_calls ?? null,
		model: model.id,
		output: outcome.output,
		parallel_tool_calls: request.parallel_tool_calls ?? true,
		previous_response_id: null,
		prompt_cache_key: request.prompt_cache_key ?? null,
		reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
		safety_identifier: request.safety_identifier ?? null,
		service_tier: "default",
		store: false,
		temperature: request.temperature ?? DEFAULT_SAMPLING,
		text: {
			format: text?.format ?? { type: "text" },
			...(text?.verbosity ? { verbosity: text.verbosity } : {}),
		},
		tool_choice: request.tool_choice ?? "auto",
		tools: request.tools ?? [],
		top_logprobs: request.top_logprobs ?? 0,
		top_p: request.top_p ?? DEFAULT_SAMPLING,
		truncation: request.truncation ?? "disabled",
		usage: outcome.usage ? responseUsage(outcome.usage) : null,
		user: request.user ?? null,
		metadata: request.metadata ?? {},
	};
}

export function responseOf({ choices, usage }: ChatCompletion, context: WriteContext): ResponseObject {
	const [choice] = choices;
	if (choice?.message.verbatim) return verbatimResponse(context, choice.message.verbatim, usage);
	if (choice?.finish_reason === "error") {
		const error = { code: "server_error", message: unfinishedAnswer().description } as const;
		return responseObject(context, { status: "failed", output: outputOf(choice, context), usage, error });
	}
	const incomplete = incompleteReason(choice?.finish_reason);
	const output = choice ? outputOf(choice, context) : [];
	return responseObject(context, {
		status: incomplete ? "incomplete" : "completed",
		output,
		usage,
		incomplete,
	});
}

/** The response of an upstream with this API, with all its fields. What the gateway decides has the gateway's values. */
export function verbatimResponse(
	context: WriteContext,
	sent: Record<string, unknown>,
	usage: Usage | null | undefined,
): ResponseObject {
	const status = sent.status === "incomplete" ? "incomplete" : "completed";
	const own = responseObject(context, { status, output: [], usage });
	const { id, object, created_at, model, store, background, previous_response_id } = own;
	return {
		...own,
		...sent,
		...{ id, object, created_at, model, status, store, background, previous_response_id },
		usage: own.usage && { ...(isRecord(sent.usage) ? sent.usage : {}), ...own.usage },
	};
}

/** `undefined` for a complete answer. */
export function incompleteReason(finishReason: string | null | undefined): IncompleteReason | undefined {
	if (finishReason === "length" || finishReason === "model_length") return "max_output_tokens";
	return finishReason === "content_filter" ? "content_filter" : undefined;
}

/** In the order in which a model generates them: reasoning, text, calls. Only the last item can be incomplete. */
function outputOf({ message, finish_reason, logprobs }: ChatChoice, context: WriteContext): AnswerItem[] {
	const { uuid, inputs } = context;
	const output: AnswerItem[] = [];
	const reason = (text: string): void => {
		if (text) output.push({ ...newReasoning(uuid), content: [{ type: "reasoning_text", text }] });
	};
	const searches: WebSearchCall[] = [];
	const textPart = (text: string, logprobs: Logprob[] = []): Part & { type: "output_text" } => {
		const annotations = annotationsIn(text, sourcesOf(searches));
		return { type: "output_text", text, annotations, logprobs };
	};
	for (const round of message.searched ?? []) {
		reason(round.reasoning);
		if (round.content) output.push({ ...newMessage(uuid), content: [textPart(round.content)] });
		output.push(...round.searches.map((call) => searchItem(call, context)));
		searches.push(...round.searches);
	}
	const seals = new UniqueSeals();
	const addSeal = (field: SignatureField | undefined): void => {
		const seal = seals.pass(sealOfField(field));
		if (seal) output.push(sealedReasoning(uuid, seal));
	};
	output.push(...reasoningItems(message, uuid, seals));
	addSeal(message.extra_content);
	const isComplete = !incompleteReason(finish_reason) && finish_reason !== "error";
	const calls = message.tool_calls ?? [];
	if (message.content || message.refusal || (isComplete && calls.length === 0)) {
		const item = newMessage(uuid, message.phase);
		if (message.content || !message.refusal)
			item.content.push({
				...textPart(message.content ?? "", readLogprobs(logprobs)),
				...(message.annotations?.length && { annotations: readCitations(message.annotations) }),
			});
		if (message.refusal) item.content.push({ type: "refusal", refusal: message.refusal });
		output.push(item);
	}
	const names = toolNames(inputs as ResponsesRequest); // the reader of this dialect parsed it
	for (const { id, function: called, extra_content } of calls) {
		addSeal(extra_content);
		const item = newCall(uuid, { id: id || newCallId(uuid), name: called.name }, names);
		setArguments(item, called.arguments);
		output.push(item);
	}
	const last = output.at(-1);
	for (const item of output) setStatus(item, item === last && !isComplete ? "incomplete" : "completed");
	return output;
}

/** One item for each sealed block, or one for all visible reasoning. */
function reasoningItems(message: AssistantMessage, uuid: () => string, seals: UniqueSeals): ReasoningItem[] {
	const item = (text: string): ReasoningItem => ({
		...newReasoning(uuid),
		content: text ? [{ type: "reasoning_text", text }] : [],
	});
	if (message.thinking_blocks?.length)
		return message.thinking_blocks.map((block) => {
			const encrypted_content = seals.pass(sealOfBlock(block));
			return { ...item(block.thinking ?? ""), ...(encrypted_content && { encrypted_content }) };
		});
	const reasoning = reasoningOf(message);
	return reasoning ? [item(reasoning)] : [];
}

function responseUsage(usage: Usage): z.output<typeof ResponseUsage> {
	return {
		input_tokens: usage.prompt_tokens,
		input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
		output_tokens: usage.completion_tokens,
		output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
		total_tokens: usage.total_tokens,
	};
}
