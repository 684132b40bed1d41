/** Converts a `message` to a chat completion. */
import * as z from "zod";
import { isRecord, parseRecord } from "../../core/json.ts";
import { messagesUsage, SentCounts } from "../../core/usage-formats.ts";
import type {
	AssistantMessage,
	ChatCompletion,
	EngineSearch,
	ThinkingBlock,
	ToolCall,
} from "../../tasks/text-generation/types.ts";
import * as completion from "../completion.ts";
import { searchedField } from "../engine-search.ts";
import { refuseUnread } from "../output-state.ts";
import { callSeal } from "../sealed-messages.ts";
import type { Seals } from "../seals.ts";
import { readArguments } from "../tool-arguments.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { messageState } from "./output.ts";
import type { Request } from "./request.ts";
import { SearchBlocks } from "./search-blocks.ts";
import { isThought, sealThought } from "./thoughts.ts";
import { type AnswerTool, answerIn } from "./tools.ts";

function inputOf(sent: unknown): Record<string, unknown> | undefined {
	if (typeof sent === "string") return parseRecord(readArguments(sent));
	return isRecord(sent) ? sent : undefined;
}

/** The types of blocks in proxies of other APIs, and of blocks without a type. */
function usualBlock(sent: unknown): unknown {
	if (!isRecord(sent)) return sent;
	if (sent.type === "output_text") return { ...sent, type: "text" };
	if (typeof sent.type === "string") return sent;
	const isCall = typeof sent.name === "string";
	return { ...sent, type: isCall ? "tool_use" : typeof sent.thinking === "string" ? "thinking" : "text" };
}

const Block = z.looseObject({
	type: z.string(),
	text: z.string().nullish(),
	thinking: z.string().nullish(),
	signature: z.string().nullish(),
	/** A field of `redacted_thinking`. */
	data: z.string().nullish(),
	id: z.string().nullish(),
	name: z.string().nullish(),
	/** Servers with Anthropic's API may send JSON text. */
	input: z.unknown().transform(inputOf).optional(),
});
/** A block of any type. Unknown types belong to tools that the request does not have. */
export const SentBlock = z.preprocess(usualBlock, Block);
export type SentBlock = z.output<typeof Block>;

/** Servers with Anthropic's API may send a text, one block, a list of texts, or nothing if the limit was used up. */
function blocksOf(content: unknown): unknown {
	if (content === null || content === undefined) return undefined;
	const list: unknown[] = Array.isArray(content) ? content : [content];
	return list.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
}

const Message = z.looseObject({
	type: z.literal("message").default("message"),
	id: z.string().nullish(),
	model: z.string().nullish(),
	content: z.preprocess(blocksOf, z.array(SentBlock).optional()),
	stop_reason: z.string().nullish(),
	stop_sequence: z.string().nullish(),
	usage: SentCounts,
});

export const MessageReply = Message.refine(({ content, stop_reason }) => content || stop_reason);

const FINISH_REASONS = new Map<string, string>([
	["max_tokens", "length"],
	["model_context_window_exceeded", "length"],
	["tool_use", "tool_calls"],
	["refusal", "content_filter"],
]);

/** OpenAI's name of a reason. `undefined`: the server sent none. */
export const sentReason = (stopReason: string | null | undefined): string | undefined =>
	stopReason ? (FINISH_REASONS.get(stopReason) ?? "stop") : undefined;

/** `end_turn`, `stop_sequence`, `pause_turn` and unknown reasons are `stop`, unless there are calls. */
export function finishReason(
	stopReason: string | null | undefined,
	answerTool: AnswerTool | undefined,
	hasCalls: boolean,
): string {
	const reason = sentReason(stopReason) ?? "stop";
	if (reason !== "stop" && reason !== "tool_calls") return reason;
	return hasCalls && !answerTool ? "tool_calls" : "stop";
}

/** Servers with Anthropic's API may end an answer with calls as one without. Clients run calls only after `tool_use`. */
export const stopReasonOf = <Reason extends string | null | undefined>(sent: Reason, hasCalls: boolean) =>
	hasCalls && (!sent || sent === "end_turn") ? "tool_use" : sent;

/** The stop sequence, in the field of vLLM. */
export const stopReasonField = (sequence: string | null | undefined): { stop_reason?: string } =>
	sequence ? { stop_reason: sequence } : {};

/** What the reply needs of its request. */
export interface ReplyForm extends Pick<Request, "answerTool" | "verbatim"> {
	seals: Seals | undefined;
	/** The search that Anthropic runs. */
	search: EngineSearch | undefined;
}

export function completionOf(
	reply: z.output<typeof MessageReply>,
	{ answerTool, verbatim, seals, search }: ReplyForm,
	call: Call,
): ChatCompletion {
	const blocks = (reply.content ?? []).map((block) => withCallId(block, call));
	const content = blocks.flatMap((block) => sealedBlock(block, seals));
	const message = {
		...messageOf(content, answerTool),
		...(search && !verbatim && searchFields(content, search, call)),
	};
	const output = messageState(reply, blocks);
	refuseUnread(call, { output, reason: sentReason(reply.stop_reason), sent: reply });
	const stop_reason = stopReasonOf(reply.stop_reason ?? "end_turn", message.tool_calls !== undefined);
	const choice = {
		message: { ...message, ...(verbatim && { verbatim: { ...reply, content, stop_reason } }) },
		finish_reason: finishReason(reply.stop_reason, answerTool, message.tool_calls !== undefined),
		...stopReasonField(reply.stop_sequence),
	};
	const { id, model } = reply;
	return completion.completionOf(
		completion.headingOf(call, { id, model }),
		choice,
		reply.usage ? messagesUsage(reply.usage) : undefined,
	);
}

/** A call without an id could not be answered. */
export const withCallId = (block: SentBlock, { services }: Call): SentBlock =>
	block.type === "tool_use" && !block.id ? { ...block, id: `toolu_${services.uuid()}` } : block;

/** A thinking block with its seal. Without one it is thinking that cannot be sent back. */
function sealedBlock(block: SentBlock, seals: Seals | undefined): SentBlock[] {
	if (!isThought(block)) return [block];
	const sealed = sealThought(block, seals);
	if (sealed) return [{ ...block, ...sealed }];
	return block.type === "thinking" ? [{ ...block, signature: "" }] : [];
}

/** What Anthropic found, and what the texts cite. */
function searchFields(
	blocks: readonly SentBlock[],
	search: EngineSearch,
	call: Call,
): Partial<AssistantMessage> {
	const searchBlocks = new SearchBlocks(call, search);
	let textLength = 0;
	const deltas = blocks.flatMap((block) => {
		const begun = searchBlocks.begin(block, textLength);
		if (block.type === "text") textLength += block.text?.length ?? 0;
		return [...begun, ...searchBlocks.close(textLength)];
	});
	deltas.push(...searchBlocks.unfinished());
	const annotations = deltas.flatMap((delta) => delta.annotations ?? []);
	const searches = deltas.flatMap(({ web_search }) => (web_search?.outcome ? web_search : []));
	return { ...(annotations.length > 0 && { annotations }), ...searchedField(searches) };
}

const isSealed = (block: SentBlock): block is SentBlock & ThinkingBlock =>
	isThought(block) && Boolean(block.signature || block.data);

function messageOf(blocks: SentBlock[], answerTool: AnswerTool | undefined): Omit<AssistantMessage, "role"> {
	const texts: string[] = [];
	const thoughts: string[] = [];
	const calls: ToolCall[] = [];
	let beforeCall = "";
	for (const block of blocks) {
		const { type, text, thinking, id, name, input } = block;
		if (isSealed(block)) beforeCall += block.signature || block.data || "";
		if (type === "text" && text) texts.push(text);
		if (type === "thinking" && thinking) thoughts.push(thinking);
		if (type !== "tool_use") continue;
		if (answerTool) texts.splice(0, texts.length, answerIn(answerTool, input ?? {}));
		else {
			calls.push({
				id: id ?? "",
				type: "function",
				function: { name: name ?? "", arguments: JSON.stringify(input ?? {}) },
				...callSeal(beforeCall),
			});
			beforeCall = "";
		}
	}
	const thinking_blocks = blocks.filter(isSealed);
	return {
		content: texts.length > 0 || calls.length === 0 ? texts.join("") : null,
		...(thoughts.length > 0 && { reasoning_content: thoughts.join("") }),
		...(thinking_blocks.length > 0 && { thinking_blocks }),
		...(calls.length > 0 && { tool_calls: calls }),
	};
}
