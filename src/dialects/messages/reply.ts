/**
 * Converts chat completions to Anthropic's `message` objects. Answers of Anthropic itself keep their content.
 *
 * Known differences for all other models: if the engine does not report the stop sequence, the stop reason is `end_turn`;
 * unsigned thinking has an empty `signature`; thinking that the caller did not request is omitted. `usage.neurons` is the
 * gateway's own field.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { cacheWritesIn, countOf, type Usage } from "../../core/usage.ts";
import type {
	AssistantMessage,
	ChatCompletion,
	ThinkingBlock,
	ToolCall,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import { argumentsObject, reasoningOf } from "../chat/chunks.ts";
import { sourcesOf } from "../chat/citations.ts";
import { unfinishedAnswer } from "../chat/events.ts";
import { sealOfBlock, sealOfField, UniqueSeals } from "../chat/sealed.ts";
import type { WriteContext } from "../dialect.ts";
import { type MessagesRequest, requestsThinking, showsThinking } from "./request.ts";
import { callerToolId, newToolId } from "./tool-ids.ts";
import {
	isContinued,
	SearchCitation,
	ServerToolUse,
	searchCitations,
	searchToolResult,
	serverToolUse,
	WebSearchToolResult,
} from "./web-search.ts";

const Thinking = z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() });
const RedactedThinking = z.object({ type: z.literal("redacted_thinking"), data: z.string() });
const TextBlock = z.object({
	type: z.literal("text"),
	text: z.string(),
	citations: z.array(SearchCitation).optional(),
});
const ToolUseBlock = z.object({
	type: z.literal("tool_use"),
	id: z.string(),
	name: z.string(),
	input: z.record(z.string(), z.unknown()),
});
const Block = z.discriminatedUnion("type", [
	Thinking,
	RedactedThinking,
	TextBlock,
	ToolUseBlock,
	ServerToolUse,
	WebSearchToolResult,
]);
export type Block = z.output<typeof Block>;

const StopReason = z.enum(["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"]);

const MessageUsage = z.object({
	input_tokens: z.number(),
	cache_creation_input_tokens: z.number(),
	cache_read_input_tokens: z.number(),
	output_tokens: z.number(),
	/** Only if there was a search. */
	server_tool_use: z.object({ web_search_requests: z.number(), web_fetch_requests: z.number() }).optional(),
	neurons: z.number().optional(),
});
export type MessageUsage = z.output<typeof MessageUsage>;

export const Message = z.object({
	id: z.string(),
	type: z.literal("message"),
	role: z.literal("assistant"),
	model: z.string(),
	content: z.array(Block),
	stop_reason: StopReason.nullable(),
	stop_sequence: z.string().nullable(),
	usage: MessageUsage,
});
export type Message = z.output<typeof Message>;

/** An id in Anthropic's form stays; any other is replaced. */
export const messageId = (id: string, uuid: () => string): string =>
	id.startsWith("msg_") ? id : `msg_${uuid().replaceAll("-", "")}`;

/**
 * `stop_reason` of vLLM, the simulator and Anthropic's models; `matched_stop` of SGLang. After an end token, a number
 * or absent.
 */
const MatchedStop = z.union([
	z.object({ stop_reason: z.string() }).transform((choice) => choice.stop_reason),
	z.object({ matched_stop: z.string() }).transform((choice) => choice.matched_stop),
]);
/** The stop sequence that ended the text, if the engine reports it and the caller sent it. */
export function stopSequence(choice: object | undefined, { inputs }: WriteContext): string | undefined {
	const matched = MatchedStop.safeParse(choice).data;
	const { stop_sequences } = inputs as MessagesRequest;
	return matched !== undefined && stop_sequences?.includes(matched) ? matched : undefined;
}

/** The finish reason of an answer that the caller continues by sending it back. Only this dialect has it. */
export const PAUSED = "pause_turn";

/** `hasCalls`: whether the answer has tool calls. */
export function stopReasonOf(
	finishReason: string | null | undefined,
	sequence: string | undefined,
	hasCalls: boolean,
): Pick<Message, "stop_reason" | "stop_sequence"> {
	const stop_sequence = null;
	if (finishReason === "length" || finishReason === "model_length")
		return { stop_reason: "max_tokens", stop_sequence };
	// The gateway's own reason: the answer has as many searches as one may have.
	if (finishReason === PAUSED) return { stop_reason: "pause_turn", stop_sequence };
	if (finishReason === "content_filter") return { stop_reason: "refusal", stop_sequence };
	// Some engines end a call with another finish reason.
	if (hasCalls) return { stop_reason: "tool_use", stop_sequence };
	if (sequence !== undefined) return { stop_reason: "stop_sequence", stop_sequence: sequence };
	return { stop_reason: "end_turn", stop_sequence };
}

/** All counts are present, because clients add them up. */
export function messageUsage(usage: Usage | null | undefined, { withCost }: WriteContext): MessageUsage {
	if (!usage)
		return {
			input_tokens: 0,
			cache_creation_input_tokens: 0,
			cache_read_input_tokens: 0,
			output_tokens: 0,
		};
	const cached_tokens = countOf(usage.prompt_tokens_details?.cached_tokens) ?? 0;
	const cache_creation_tokens = cacheWritesIn(usage) ?? 0;
	const { neurons } = withCost(usage);
	return {
		input_tokens: Math.max(0, usage.prompt_tokens - cached_tokens - cache_creation_tokens),
		cache_creation_input_tokens: cache_creation_tokens,
		cache_read_input_tokens: cached_tokens,
		output_tokens: usage.completion_tokens,
		...(neurons !== undefined && { neurons }),
	};
}

export function messageOf(completion: ChatCompletion, context: WriteContext): Message {
	const [choice] = completion.choices;
	if (choice?.finish_reason === "error") throw unfinishedAnswer();
	const { verbatim } = choice?.message ?? {};
	const searches = (choice?.message.searched ?? []).flatMap((round) => round.searches);
	const usage = { ...messageUsage(completion.usage, context), ...searchUsage(searches) };
	const message: Message = {
		id: messageId(completion.id, context.uuid),
		type: "message",
		role: "assistant",
		model: context.model.id,
		content: choice && !verbatim ? blocksOf(choice.message, context) : [],
		...stopReasonOf(
			choice?.finish_reason,
			stopSequence(choice, context),
			(choice?.message.tool_calls?.length ?? 0) > 0,
		),
		usage,
	};
	if (!verbatim) return message;
	const { id, model } = message;
	return { ...message, ...verbatim, id, model, usage: verbatimUsage(verbatim.usage, usage) };
}

/** Keeps the upstream's fields other than token counts (`server_tool_use`, `service_tier`). */
export const verbatimUsage = (sent: unknown, usage: MessageUsage): MessageUsage => ({
	...(isRecord(sent) ? sent : {}),
	...usage,
});

/** Searches that have ended. */
export function searchUsage(searches: readonly WebSearchCall[]): Pick<MessageUsage, "server_tool_use"> {
	const web_search_requests = searches.filter(({ outcome }) => outcome && "sources" in outcome).length;
	return searches.length > 0 ? { server_tool_use: { web_search_requests, web_fetch_requests: 0 } } : {};
}

/** In the order in which a model generates them. */
function blocksOf(message: AssistantMessage, { inputs, uuid }: WriteContext): Block[] {
	const request = inputs as MessagesRequest;
	const text = [message.content, message.refusal].filter(Boolean).join("\n");
	const seals = new UniqueSeals();
	const searches: WebSearchCall[] = [];
	const textBlocks = (sent: string, annotations?: AssistantMessage["annotations"]): Block[] => {
		if (!sent) return [];
		const citations = searchCitations(sent, sourcesOf(searches), annotations);
		return [{ type: "text", text: sent, ...(citations.length > 0 && { citations }) }];
	};
	const searched = (message.searched ?? []).flatMap((round): Block[] => {
		const reasoning = {
			...round,
			thinking_blocks: [...round.thinking_blocks],
			reasoning_content: round.reasoning,
		};
		const thinking = thinkingOf(reasoning, request, seals);
		const blocks = [...thinking, ...textBlocks(round.content), ...round.searches.flatMap(searchBlocks)];
		searches.push(...round.searches);
		return blocks;
	});
	return [
		...searched,
		...thinkingOf(message, request, seals),
		...textBlocks(text, message.annotations),
		...(message.tool_calls ?? []).flatMap((call) => [
			...redactedThinking(seals.pass(sealOfField(call.extra_content))),
			toolUse(call, uuid),
		]),
	];
}

const searchBlocks = (call: WebSearchCall): Block[] => [
	...(isContinued(call) ? [] : [serverToolUse(call)]),
	...(call.outcome ? [searchToolResult(call, call.outcome)] : []),
];

/** A seal without visible reasoning. Before a call it is sent to every caller, because the model needs it with the result. */
export const redactedThinking = (data: string): Block[] =>
	data ? [{ type: "redacted_thinking", data }] : [];

function thinkingOf(
	message: Pick<AssistantMessage, "thinking_blocks" | "reasoning" | "reasoning_content" | "extra_content">,
	request: MessagesRequest,
	seals: UniqueSeals,
): Block[] {
	const requests = requestsThinking(request);
	const ofText = requests ? redactedThinking(seals.pass(sealOfField(message.extra_content))) : [];
	if (message.thinking_blocks?.length) {
		if (!requests) return [];
		for (const block of message.thinking_blocks) seals.pass(sealOfBlock(block));
		return message.thinking_blocks.map(thinkingBlock);
	}
	const thinking = showsThinking(request) ? reasoningOf(message) : "";
	return [...(thinking ? [{ type: "thinking" as const, thinking, signature: "" }] : []), ...ofText];
}

export const thinkingBlock = ({ type, thinking = "", signature = "", data = "" }: ThinkingBlock): Block =>
	type === "thinking" ? { type, thinking, signature } : { type, data };

const toolUse = ({ id, function: called }: ToolCall, uuid: () => string): Block => ({
	type: "tool_use",
	id: id ? callerToolId(id) : newToolId(uuid),
	name: called.name,
	input: argumentsObject(called.arguments),
});
