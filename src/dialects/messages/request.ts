/**
 * Reads Messages requests (https://docs.anthropic.com/en/api/messages) for any chat model.
 *
 * The request is also kept unchanged (`ChatInput.verbatim`). An upstream with this dialect receives the complete request, including
 * tools that Anthropic runs. For a model of Workers AI that a route sends there, it receives the fields that a task's input does not
 * have: `cache_control`, `metadata`, `service_tier`, citations. Other upstreams are used only if they lose no content.
 *
 * Known differences at other upstreams: Anthropic's own tools, their calls and results are dropped (`tools.ts`, `blocks.ts`); nothing is
 * stored, so files by id are not supported; fields that only Anthropic supports are accepted and ignored.
 */
import * as z from "zod";
import type { AiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { inputFamily } from "../../models/family.ts";
import { can, isProductId, type Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { breakpointOf } from "../chat/cache-control.ts";
import { jsonSchemaFormat } from "../chat/json-mode.ts";
import { contentRules } from "../chat/messages.ts";
import { defaulted, perModel } from "../fields.ts";
import { type BlockRules, MessageContent } from "./blocks.ts";
import { Effort, lastEffort, Messages, readMessages } from "./input.ts";
import { Choice, readToolFields, Tools } from "./tools.ts";

const MIN_BUDGET_TOKENS = 1024;

/**
 * The reference has "summarized" and "omitted". Claude Code sends other values with a beta and repeats a refused
 * request.
 */
const display = z.string().nullish();
const Thinking = z.discriminatedUnion("type", [
	z.looseObject({
		type: z.literal("enabled"),
		budget_tokens: z.number().int().min(MIN_BUDGET_TOKENS),
		display,
	}),
	z.looseObject({ type: z.literal("adaptive"), display }),
	z.looseObject({ type: z.literal("disabled") }),
]);

const JsonFormat = z.looseObject({
	type: z.literal("json_schema"),
	schema: z.record(z.string(), z.unknown()),
});

/** Loose, so that unknown fields stay in the request that is forwarded unchanged. */
export const MessagesRequest = z.looseObject({
	messages: Messages,
	max_tokens: z.number().int().min(1),
	system: MessageContent.nullish(),
	stream: z.boolean().nullish(),
	temperature: z.number().min(0).max(1).nullish(),
	top_p: z.number().min(0).max(1).nullish(),
	top_k: z.number().int().min(0).nullish(),
	stop_sequences: z.array(z.string()).nullish(),
	tools: Tools.nullish(),
	tool_choice: Choice.nullish(),
	thinking: Thinking.nullish(),
	output_config: z
		.looseObject({
			effort: Effort.nullish(),
			format: JsonFormat.nullish(),
		})
		.nullish(),
	/** The former place of `output_config.format`. */
	output_format: JsonFormat.nullish(),
	metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
	mcp_servers: z.array(z.unknown()).nullish(),
	/** What Anthropic's service removes from a long conversation. */
	context_management: z.looseObject({ edits: z.array(z.unknown()).nullish() }).nullish(),
});
export type MessagesRequest = z.output<typeof MessagesRequest>;

/** With the model's defaults, except for `max_tokens`, which is required. */
export const messagesSchema = perModel((model): z.ZodType<MessagesRequest> => {
	const { stream, temperature, top_p, top_k } = MessagesRequest.shape;
	return MessagesRequest.extend({
		stream: defaulted(model, "stream", stream),
		temperature: defaulted(model, "temperature", temperature),
		top_p: defaulted(model, "top_p", top_p),
		top_k: defaulted(model, "top_k", top_k),
	});
});

/** Equals the `kind` of the backends that speak this dialect. */
const DIALECT = "anthropic";

/**
 * `targets`: the backends that may answer. Content that only some of them support is not refused. Throws 5006 for content that the
 * model does not accept, 8001 for unsupported fields.
 */
export function readRequest(
	request: MessagesRequest,
	model: Model,
	targets: readonly { kind: string }[] = [],
): ChatInput {
	let unconverted: string | undefined;
	const onUnsupported = (refusal: AiError): void => {
		unconverted ??= refusal.description.replace(/^Invalid input: /, "");
	};
	const dropped = new Set<string>();
	const mayForward = inputFamily(model).isAnthropic || targets.some(({ kind }) => kind === DIALECT);
	const rules: BlockRules = {
		...contentRules(model),
		onDropped: (part) => dropped.add(part),
		...(mayForward && { onUnsupported }),
	};
	if (request.mcp_servers?.length) dropped.add("mcp_servers");
	if (request.context_management?.edits?.length) dropped.add("context_management");
	const { max_tokens, temperature, top_p, top_k, stop_sequences, metadata } = request;
	const format = request.output_config?.format ?? request.output_format;
	const effort = effortOf(request, model);
	const messages = readMessages(request.messages, request.system, rules);
	const tools = readToolFields(request, rules);
	const isComplete = !isProductId(model.id) || unconverted !== undefined;
	return {
		messages,
		stream: request.stream ?? false,
		max_tokens,
		...present({ temperature, top_p }),
		// 0 means no limit.
		...(top_k && { top_k }),
		...(stop_sequences?.length && { stop: stop_sequences }),
		...tools,
		...(format && { response_format: jsonSchemaFormat(format.schema, "output_config.format.schema") }),
		...(effort !== undefined && { reasoning_effort: effort }),
		...(showsThinking(request) && { reasoning_summary: "auto" as const }),
		...(metadata?.user_id && { user: metadata.user_id }),
		...breakpointOf(request),
		verbatim: {
			dialect: DIALECT,
			body: request,
			messages: messages.length,
			...(isComplete && { complete: true }),
			...(unconverted !== undefined && { unconverted }),
		},
		...(dropped.size > 0 && { dropped: [...dropped] }),
	};
}

type ChatEffort = ChatInput["reasoning_effort"];

/** The smallest budget of each effort. */
const EFFORTS_BY_BUDGET: readonly [number, ChatEffort][] = [
	[16_384, "high"],
	[8192, "medium"],
	[2048, "low"],
	[MIN_BUDGET_TOKENS, "minimal"],
];

/**
 * Without `thinking` reasoning is disabled, as in Anthropic's API: the caller would pay for reasoning that the reply omits.
 * The field is not sent to models that the catalogue does not mark as reasoning models.
 */
function effortOf({ messages, thinking, output_config }: MessagesRequest, model: Model): ChatEffort {
	const effort = lastEffort(messages) ?? output_config?.effort;
	if (!thinking && (can(model, "reasoning") || model.status === "adhoc")) return null;
	if (thinking?.type === "disabled") return null;
	if (thinking?.type === "enabled")
		return EFFORTS_BY_BUDGET.find(([least]) => thinking.budget_tokens >= least)?.[1] ?? "minimal";
	if (!effort) return thinking ? "high" : undefined;
	return effort;
}

/** Whether the caller requested thinking. Many callers expect the answer in the first block. */
export const requestsThinking = ({ thinking }: MessagesRequest): boolean =>
	thinking != null && thinking.type !== "disabled";

/** Whether the reply has unsigned thinking. Signed thinking is also sent if the caller omits its display. */
export const showsThinking = (request: MessagesRequest): boolean =>
	requestsThinking(request) && request.thinking?.display !== "omitted";
