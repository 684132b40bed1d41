/** Converts a `response` object to a chat completion: https://platform.openai.com/docs/api-reference/responses/object. */
import * as z from "zod";
import { isRecord } from "../../../core/json.ts";
import { present } from "../../../core/present.ts";
import type { Usage } from "../../../core/usage.ts";
import { messagesUsage, SentCounts } from "../../../core/usage-formats.ts";
import type {
	AssistantMessage,
	ChatCompletion,
	EngineSearch,
	ThinkingBlock,
	ToolCall,
} from "../../../tasks/text-generation/types.ts";
import { completionOf, headingOf } from "../../completion.ts";
import { searchedField } from "../../engine-search.ts";
import { refuseUnread } from "../../output-state.ts";
import { callSeal } from "../../sealed-messages.ts";
import { DROPPED_SEAL, type Seals } from "../../seals.ts";
import { readArguments } from "../../tool-arguments.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { type Call, failureOfBody } from "../../transport/upstream-failure.ts";
import { argumentsText } from "../reply/sent-calls.ts";
import { usualItem, usualResponse } from "./forms.ts";
import type { ResponsesItem, SealedItem } from "./items.ts";
import { responseState } from "./output.ts";
import { SEARCH_ITEM, searchesIn } from "./searches.ts";

const text = z.string().nullish();
const TextPart = z.looseObject({ type: z.string().default("output_text"), text, refusal: text });

/** Some servers send a text, or one part, in the place of a list. */
function partList(sent: unknown): unknown {
	if (typeof sent === "string") return [{ text: sent }];
	return isRecord(sent) ? [sent] : sent;
}
const TextParts = z.preprocess(partList, z.array(TextPart).nullish());

/** An item of any type. Unknown ones belong to features that the request does not have. */
const SentItem = z.preprocess(
	usualItem,
	z.looseObject({
		type: z.string(),
		id: text,
		call_id: text,
		name: text,
		/** Text of a function's call. Calls of other kinds, such as searches for tools, have objects. */
		arguments: z.unknown().optional(),
		input: text,
		phase: text,
		encrypted_content: text,
		summary: TextParts,
		content: TextParts,
	}),
);
export const UpstreamItem = SentItem.transform((item) => {
	if (item.type !== "function_call") return item;
	const text = readArguments(argumentsText(item.arguments));
	return text === item.arguments ? item : { ...item, arguments: text };
});
export type UpstreamItem = z.output<typeof UpstreamItem>;

export const ResponseReply = z.preprocess(
	usualResponse,
	z.looseObject({
		model: text,
		created_at: z.number().nullish(),
		status: text,
		output: z.array(UpstreamItem).nullish(),
		error: z.unknown().optional(),
		incomplete_details: z.looseObject({ reason: text }).nullish(),
		usage: SentCounts,
	}),
);
export type ResponseReply = z.output<typeof ResponseReply>;

/** A reply that is no stream. */
export const WholeReply = ResponseReply.refine(({ output, error }) => output || error);

/** What the reply needs of its request. */
export interface ResponsesReplyForm {
	seals: Seals | undefined;
	/** The search that the service runs. */
	search: EngineSearch | undefined;
	/** The caller gets the items as the service sent them. */
	verbatim: boolean;
}

export function completionIn(reply: ResponseReply, form: ResponsesReplyForm, call: Call): ChatCompletion {
	refuseFailed(reply, call);
	reportDiscarded(reply, call);
	const { verbatim, search } = form;
	const items = reply.output ?? [];
	const sealed: (string | undefined)[] = [];
	for (const [at, item] of items.entries()) sealed.push(sealOf(item, { at, previous: sealed[at - 1] }, form));
	const message = messageOf(items, sealed);
	const reason = finishReason(reply, (message.tool_calls?.length ?? 0) > 0);
	refuseUnread(call, { output: responseState(reply), reason, sent: reply });
	const { model, created_at: created } = reply;
	return completionOf(
		headingOf(call, { model, created }),
		{
			message: {
				...message,
				...(search?.showsSearches && searchedField(items.flatMap((item) => searchesIn(item, call)))),
				...(verbatim && {
					verbatim: { ...reply, output: items.map((item, at) => withSeal(item, sealed[at])) },
				}),
			},
			finish_reason: reason,
			...logprobsOf(items),
		},
		usageIn(reply),
	);
}

/** The service answers 200 to a request that it could not finish. */
export function refuseFailed({ status, error }: ResponseReply, call: Call): void {
	if (status === "failed" || isErrorBody({ error })) throw failureOfBody(call, { error: error ?? {} });
}

/** The service answers without reasoning that it cannot use, such as that of another organisation. */
export function reportDiscarded({ input_transformations: sent }: ResponseReply, { report }: Call): void {
	const isDiscarded = (each: unknown) =>
		isRecord(each) && each.action === "removed" && each.type === "reasoning";
	if (!report || report.dropped.includes(DROPPED_SEAL)) return;
	if (Array.isArray(sent) && sent.some(isDiscarded)) report.dropped.push(DROPPED_SEAL);
}

/**
 * Seals an item that has encrypted content, with its place among the items of the answer. A search belongs to the reasoning before it.
 * `previous`: the seal of the item before.
 */
export function sealOf(
	item: UpstreamItem,
	{ at, previous }: { at: number; previous: string | undefined },
	{ seals, verbatim }: ResponsesReplyForm,
): string | undefined {
	const isSealedSearch = item.type === SEARCH_ITEM && previous !== undefined && !verbatim;
	if (!item.encrypted_content && !isSealedSearch) return undefined;
	return seals?.seal({ at, item } satisfies Pick<SealedItem, "at"> & { item: UpstreamItem });
}

/** The item for the caller: its encrypted content is replaced by the seal. */
export function withSeal(item: ResponsesItem, seal: string | undefined): ResponsesItem {
	if (item.encrypted_content === undefined) return item;
	const { encrypted_content: _, ...fields } = item;
	return { ...fields, ...(seal !== undefined && { encrypted_content: seal }) };
}

/** The visible reasoning of an item: a summary, or the text that servers of open models send. */
export const reasoningText = ({ content, summary }: UpstreamItem): string =>
	[...(summary ?? []), ...(content ?? [])].map((part) => part.text ?? "").join("\n\n");

export function thinkingBlock(item: UpstreamItem, seal: string): ThinkingBlock {
	const thinking = reasoningText(item);
	return thinking
		? { type: "thinking", thinking, signature: seal }
		: { type: "redacted_thinking", data: seal };
}

/** Items whose seals belong to the call after them. */
export const BEFORE_CALLS: ReadonlySet<string> = new Set(["reasoning", SEARCH_ITEM]);

function messageOf(
	items: readonly UpstreamItem[],
	sealed: readonly (string | undefined)[],
): Omit<AssistantMessage, "role"> {
	const texts: string[] = [];
	let textLength = 0;
	const refusals: string[] = [];
	const thoughts: string[] = [];
	const annotations: unknown[] = [];
	const thinking_blocks: ThinkingBlock[] = [];
	const calls: ToolCall[] = [];
	let phase: string | null | undefined;
	let beforeCall = "";
	for (const [at, item] of items.entries()) {
		const seal = sealed[at];
		if (item.type === "reasoning") {
			const visible = reasoningText(item);
			if (visible) thoughts.push(visible);
		}
		if (seal !== undefined && BEFORE_CALLS.has(item.type)) {
			thinking_blocks.push(thinkingBlock(item, seal));
			beforeCall += seal;
		}
		if (item.type === "message") {
			phase = item.phase ?? phase;
			for (const part of item.content ?? []) {
				if (part.refusal) refusals.push(part.refusal);
				annotations.push(...annotationsOf(part, textLength));
				textLength += part.text?.length ?? 0;
				if (part.text) texts.push(part.text);
			}
		}
		const call = callOf(item);
		if (!call) continue;
		calls.push({ ...call, ...callSeal(beforeCall) });
		beforeCall = "";
	}
	return {
		content: texts.length > 0 || (calls.length === 0 && refusals.length === 0) ? texts.join("") : null,
		...(refusals.length > 0 && { refusal: refusals.join("") }),
		...(thoughts.length > 0 && { reasoning_content: thoughts.join("\n\n") }),
		...(thinking_blocks.length > 0 && { thinking_blocks }),
		...present({ phase }),
		...(annotations.length > 0 && { annotations }),
		...(calls.length > 0 && { tool_calls: calls }),
	};
}

/** A custom tool's input is the only argument of the function that stands for it. */
export function callOf({
	type,
	call_id,
	id,
	name,
	arguments: json,
	input,
}: UpstreamItem): ToolCall | undefined {
	if (type !== "function_call" && type !== "custom_tool_call") return undefined;
	const text = type === "function_call" ? String(json) : JSON.stringify({ input: input ?? "" });
	return { id: call_id || id || "", type: "function", function: { name: name ?? "", arguments: text } };
}

/** @param offset the characters of the text before the part. */
export function annotationsOf({ annotations }: Record<string, unknown>, offset: number): unknown[] {
	return Array.isArray(annotations) ? annotations.map((sent) => chatAnnotation(sent, offset)) : [];
}

/** Chat has the fields of a citation one level lower, and counts from the beginning of the complete text. */
export function chatAnnotation(sent: unknown, offset: number): unknown {
	if (!isRecord(sent) || sent.type !== "url_citation" || isRecord(sent.url_citation)) return sent;
	const { type, ...fields } = sent;
	const url_citation = { ...fields };
	for (const name of ["start_index", "end_index"])
		if (typeof fields[name] === "number") url_citation[name] = fields[name] + offset;
	return { type, url_citation };
}

function logprobsOf(items: readonly UpstreamItem[]): { logprobs?: unknown } {
	const content = items
		.flatMap((item) => (item.type === "message" ? (item.content ?? []) : []))
		.flatMap(({ logprobs }) => (Array.isArray(logprobs) ? logprobs : []));
	return content.length > 0 ? { logprobs: { content } } : {};
}

const INCOMPLETE = new Map<string | null | undefined, string>([
	["max_output_tokens", "length"],
	["content_filter", "content_filter"],
]);

/** The service's further reasons for an incomplete answer (`max_messages`, `steered`) are `stop`. */
export function finishReason({ status, incomplete_details }: ResponseReply, hasCalls: boolean): string {
	if (status === "incomplete")
		return INCOMPLETE.get(incomplete_details?.reason) ?? (hasCalls ? "tool_calls" : "stop");
	return hasCalls ? "tool_calls" : "stop";
}

export const usageIn = ({ usage }: ResponseReply): Usage | undefined => usage && messagesUsage(usage);
