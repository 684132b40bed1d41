/** The items of a response's `output`: OpenAI's schemas, and functions that create empty items. */
import * as z from "zod";
import { isRecord, parseRecord } from "../../core/json.ts";
import { present } from "../../core/present.ts";
import { inputOfArguments } from "../chat/custom-tools.ts";
import { ClientCall, newClientCall, setClientArguments } from "./client-tools.ts";
import type { ToolName } from "./tool-names.ts";

const Status = z.enum(["in_progress", "completed", "incomplete"]);

const TopLogprob = z.object({ token: z.string(), bytes: z.array(z.number()), logprob: z.number() });
const Logprob = TopLogprob.extend({ top_logprobs: z.array(TopLogprob) });
export type Logprob = z.output<typeof Logprob>;

const UrlCitation = z.object({
	type: z.literal("url_citation"),
	start_index: z.int(),
	end_index: z.int(),
	title: z.string(),
	url: z.string(),
});
type UrlCitation = z.output<typeof UrlCitation>;

const Phase = z.enum(["commentary", "final_answer"]);

const OutputText = z.object({
	type: z.literal("output_text"),
	text: z.string(),
	/** Citations of the pages of web searches. */
	annotations: z.array(UrlCitation),
	logprobs: z.array(Logprob),
});
const Refusal = z.object({ type: z.literal("refusal"), refusal: z.string() });
const ReasoningText = z.object({ type: z.literal("reasoning_text"), text: z.string() });
export type Part = z.output<typeof OutputText> | z.output<typeof Refusal> | z.output<typeof ReasoningText>;

const ReasoningItem = z.object({
	id: z.string(),
	type: z.literal("reasoning"),
	status: Status,
	/** Always empty: the full reasoning is in `content`. */
	summary: z.array(z.never()),
	content: z.array(ReasoningText),
	/** A seal of the gateway, of reasoning that only the same model can read. */
	encrypted_content: z.string().optional(),
});
export type ReasoningItem = z.output<typeof ReasoningItem>;

const MessageItem = z.object({
	id: z.string(),
	type: z.literal("message"),
	status: Status,
	role: z.literal("assistant"),
	phase: Phase.optional(),
	content: z.array(z.discriminatedUnion("type", [OutputText, Refusal])),
});
export type MessageItem = z.output<typeof MessageItem>;

const CallItem = z.object({
	id: z.string(),
	type: z.literal("function_call"),
	status: Status,
	/** JSON text. */
	arguments: z.string(),
	call_id: z.string(),
	name: z.string(),
	namespace: z.string().optional(),
});

/** A call of a custom tool, whose input is any text. */
const CustomCallItem = z.object({
	id: z.string(),
	type: z.literal("custom_tool_call"),
	status: Status,
	input: z.string(),
	call_id: z.string(),
	name: z.string(),
	namespace: z.string().optional(),
});
export type CallItem = z.output<typeof CallItem> | z.output<typeof CustomCallItem> | ClientCall;

/** A search that the gateway ran (`web-search.ts`). */
const WebSearchItem = z.object({
	id: z.string(),
	type: z.literal("web_search_call"),
	status: z.enum(["in_progress", "searching", "completed", "failed", "incomplete"]),
	action: z.object({
		type: z.literal("search"),
		query: z.string(),
		queries: z.array(z.string()),
		sources: z.array(z.object({ type: z.literal("url"), url: z.string() })).optional(),
	}),
	/** Only if the request includes `web_search_call.results`. */
	results: z.array(z.object({ url: z.string(), title: z.string(), text: z.string() })).optional(),
});
export type WebSearchItem = z.output<typeof WebSearchItem>;

/** The summary of a conversation (`compaction.ts`). */
const CompactionItem = z.object({
	id: z.string(),
	type: z.literal("compaction"),
	encrypted_content: z.string(),
});
export type CompactionItem = z.output<typeof CompactionItem>;

const AnswerItem = z.discriminatedUnion("type", [
	ReasoningItem,
	MessageItem,
	CallItem,
	CustomCallItem,
	WebSearchItem,
	...ClientCall.options,
]);
/** An item of a model's answer. */
export type AnswerItem = z.output<typeof AnswerItem>;

export const OutputItem = z.discriminatedUnion("type", [...AnswerItem.options, CompactionItem]);
export type OutputItem = z.output<typeof OutputItem>;

type Uuid = () => string;

const itemId = (kind: "rs" | "msg" | "fc" | "ctc" | "call", uuid: Uuid): string =>
	`${kind}_${uuid().replaceAll("-", "")}`;

export const newReasoning = (uuid: Uuid): ReasoningItem => ({
	id: itemId("rs", uuid),
	type: "reasoning",
	status: "in_progress",
	summary: [],
	content: [],
});

/** Reasoning without text, as its seal. */
export const sealedReasoning = (uuid: Uuid, seal: string): ReasoningItem => ({
	...newReasoning(uuid),
	encrypted_content: seal,
});

/** `phase`: OpenAI's kind of the text, if its model sent one. */
export const newMessage = (uuid: Uuid, phase?: string | null): MessageItem => ({
	id: itemId("msg", uuid),
	type: "message",
	status: "in_progress",
	role: "assistant",
	...present({ phase: Phase.safeParse(phase).data }),
	content: [],
});

/** Citations of a chat's message, which has their fields one level lower. Others are left out. */
export function readCitations(annotations: readonly unknown[] | null | undefined): UrlCitation[] {
	return (annotations ?? []).flatMap((sent) => {
		const { url_citation, ...fields } = isRecord(sent) ? sent : {};
		const { data } = UrlCitation.safeParse({ ...fields, ...(isRecord(url_citation) && url_citation) });
		return data ?? [];
	});
}

/** The citations of a text that begins after `offset` characters of the answer, as places in it. */
export const citationsAfter = (offset: number, annotations: readonly unknown[]): UrlCitation[] =>
	readCitations(annotations).flatMap(({ start_index, end_index, ...citation }) =>
		start_index < offset
			? []
			: { ...citation, start_index: start_index - offset, end_index: end_index - offset },
	);

/** For a call without an id. The caller needs an id to return the result. */
export const newCallId = (uuid: Uuid): string => itemId("call", uuid);

/** Converts the engine's tool name to the caller's. A name without a tool stays unchanged. */
export function newCall(
	uuid: Uuid,
	call: { id: string; name: string },
	names: ReadonlyMap<string, ToolName>,
): CallItem {
	const { kind = "function", ...name } = names.get(call.name) ?? { name: call.name };
	const common = { status: "in_progress", call_id: call.id, ...name } as const;
	if (kind === "custom") return { id: itemId("ctc", uuid), type: "custom_tool_call", input: "", ...common };
	if (kind === "function") return { id: itemId("fc", uuid), type: "function_call", arguments: "", ...common };
	return newClientCall(kind, uuid(), call.id);
}

/** Sets the arguments of a function call, the input of a custom tool, which is its only argument, or the fields of another item. */
export function setArguments(item: CallItem, text: string): void {
	if (item.type === "function_call") item.arguments = text;
	else if (item.type === "custom_tool_call") item.input = inputOfArguments(text);
	else setClientArguments(item, parseRecord(text) ?? {});
}

/** OpenAI's patches have no status for an incomplete one. */
export function setStatus(item: AnswerItem, status: MessageItem["status"]): void {
	if (item.type === "web_search_call") {
		if (item.status === "in_progress") item.status = status;
	} else if (item.type !== "apply_patch_call") item.status = status;
	else item.status = status === "incomplete" ? "in_progress" : status;
}

export function newPart(type: Part["type"]): Part {
	if (type === "output_text") return { type, text: "", annotations: [], logprobs: [] };
	return type === "refusal" ? { type, refusal: "" } : { type, text: "" };
}

// Engines omit unsupported fields. `bytes` is null for a token that is not text.
const EngineTopLogprob = z.object({
	token: z.string(),
	bytes: z.array(z.number()).nullish(),
	logprob: z.number(),
});
const EngineLogprobs = z.object({
	content: z.array(EngineTopLogprob.extend({ top_logprobs: z.array(EngineTopLogprob).nullish() })),
});

/** `logprobs` of a chat choice. Empty if there are none. */
export function readLogprobs(logprobs: unknown): Logprob[] {
	const { data } = EngineLogprobs.safeParse(logprobs);
	const token = ({ token, bytes, logprob }: z.output<typeof EngineTopLogprob>) => ({
		token,
		bytes: bytes ?? [],
		logprob,
	});
	return (data?.content ?? []).map((logprob) => ({
		...token(logprob),
		top_logprobs: (logprob.top_logprobs ?? []).map(token),
	}));
}
