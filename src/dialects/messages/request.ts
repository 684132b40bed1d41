/**
 * Messages requests (https://docs.anthropic.com/en/api/messages) to a chat input, for any chat model.
 *
 * What the hub has no word for goes on as it was said, to upstreams that are asked in this dialect, too: `cache_control`,
 * `metadata`, `service_tier`, citations. Where a model is Anthropic's own, that is the whole request, tools that Anthropic
 * runs among it; any other upstream is asked only where nothing of it would be lost.
 *
 * Known differences, for models of other makers: Anthropic's own tools are dropped (tools.ts); nothing is stored, so
 * `container` and files by id are not known; what only Anthropic knows is accepted and does nothing where another answers.
 */

import * as z from "zod";
import type { AiError } from "../../core/errors.ts";
import { inputFamily } from "../../models/family.ts";
import { can, type Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { contentRules } from "../chat/content-rules.ts";
import { invalidInput } from "../chat/errors.ts";
import { jsonSchemaFormat } from "../chat/json-mode.ts";
import { defaulted, perModel, present } from "../fields.ts";
import { Content } from "./blocks.ts";
import { Messages, readMessages } from "./input.ts";
import { Choice, readToolFields, Tools } from "./tools.ts";

const MIN_BUDGET_TOKENS = 1024;

/** "summarized" or "omitted" in the reference. Claude Code sends others with a beta, and repeats a refused request. */
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

/** Loose, for the sake of what goes on as it came. */
export const MessagesRequest = z.looseObject({
	messages: Messages,
	max_tokens: z.number().int().min(1),
	system: Content.nullish(),
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
			effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish(),
			format: JsonFormat.nullish(),
		})
		.nullish(),
	/** Its name before it went to `output_config`. */
	output_format: JsonFormat.nullish(),
	metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
	mcp_servers: z.array(z.unknown()).nullish(),
});
export type MessagesRequest = z.output<typeof MessagesRequest>;

/** With the model's defaults, but for the limit, which must be said. */
export const messagesSchema = perModel((model): z.ZodType<MessagesRequest> => {
	const { stream, temperature, top_p, top_k } = MessagesRequest.shape;
	return MessagesRequest.extend({
		stream: defaulted(model, "stream", stream),
		temperature: defaulted(model, "temperature", temperature),
		top_p: defaulted(model, "top_p", top_p),
		top_k: defaulted(model, "top_k", top_k),
	});
});

/** Throws 5006 for content that the model does not take, 8001 for what is not supported here. */
export function readRequest(request: MessagesRequest, model: Model): ChatInput {
	let unread: string | undefined;
	const leave = (refusal: AiError): void => {
		unread ??= refusal.description.replace(/^Invalid input: /, "");
	};
	const rules = { ...contentRules(model), ...(inputFamily(model).isAnthropic && { leave }) };
	if (request.mcp_servers?.length) {
		const refusal = invalidInput("mcp_servers: not supported, no servers are called");
		if (!rules.leave) throw refusal;
		rules.leave(refusal);
	}
	const { max_tokens, temperature, top_p, top_k, stop_sequences, metadata } = request;
	const format = request.output_config?.format ?? request.output_format;
	const effort = effortOf(request, model);
	const messages = readMessages(request.messages, request.system, rules);
	return {
		messages,
		stream: request.stream ?? false,
		max_tokens,
		...present({ temperature, top_p }),
		// 0 says: of all tokens.
		...(top_k && { top_k }),
		...(stop_sequences?.length && { stop: stop_sequences }),
		...readToolFields(request, rules.leave),
		...(format && { response_format: jsonSchemaFormat(format.schema, "output_config.format.schema") }),
		...(effort !== undefined && { reasoning_effort: effort }),
		...(metadata?.user_id && { user: metadata.user_id }),
		verbatim: {
			dialect: "anthropic",
			body: request,
			messages: messages.length,
			...(unread !== undefined && { unread }),
		},
	};
}

type Effort = ChatInput["reasoning_effort"];

/** The least budget of each effort. */
const EFFORTS_BY_BUDGET: readonly [number, Effort][] = [
	[16_384, "high"],
	[8192, "medium"],
	[2048, "low"],
	[MIN_BUDGET_TOKENS, "minimal"],
];

/**
 * Without `thinking` a model does not think, as at Anthropic: the caller would pay for thoughts that the reply leaves
 * out. A model that is not known to think is not told so.
 */
function effortOf({ thinking, output_config }: MessagesRequest, model: Model): Effort {
	const { effort } = output_config ?? {};
	if (!thinking && (can(model, "reasoning") || model.status === "adhoc")) return null;
	if (thinking?.type === "disabled") return null;
	if (thinking?.type === "enabled")
		return EFFORTS_BY_BUDGET.find(([least]) => thinking.budget_tokens >= least)?.[1] ?? "minimal";
	if (!effort) return thinking ? "high" : undefined;
	return effort === "low" || effort === "medium" ? effort : "high";
}

/** Whether the caller expects thoughts: many look at the first block for the answer. */
export const asksForThoughts = ({ thinking }: MessagesRequest): boolean =>
	thinking != null && thinking.type !== "disabled";

/** Whether he is to see those that serve for nothing else, because nobody signed them. */
export const showsThoughts = ({ thinking }: MessagesRequest): boolean =>
	thinking != null && thinking.type !== "disabled" && thinking.display !== "omitted";
