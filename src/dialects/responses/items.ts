/** The items of a response's `output`: their shapes, as OpenAI has them, and how each begins. */
import * as z from "zod";

const Status = z.enum(["in_progress", "completed", "incomplete"]);

const TopLogprob = z.object({ token: z.string(), bytes: z.array(z.number()), logprob: z.number() });
const Logprob = TopLogprob.extend({ top_logprobs: z.array(TopLogprob) });
export type Logprob = z.output<typeof Logprob>;

const OutputText = z.object({
	type: z.literal("output_text"),
	text: z.string(),
	/** Citations of hosted tools: there are none. */
	annotations: z.array(z.never()),
	logprobs: z.array(Logprob),
});
const Refusal = z.object({ type: z.literal("refusal"), refusal: z.string() });
const ReasoningText = z.object({ type: z.literal("reasoning_text"), text: z.string() });
export type Part = z.output<typeof OutputText> | z.output<typeof Refusal> | z.output<typeof ReasoningText>;

const ReasoningItem = z.object({
	id: z.string(),
	type: z.literal("reasoning"),
	status: Status,
	/** Always empty: thoughts are given as they are, in `content`. */
	summary: z.array(z.never()),
	content: z.array(ReasoningText),
});
export type ReasoningItem = z.output<typeof ReasoningItem>;

const MessageItem = z.object({
	id: z.string(),
	type: z.literal("message"),
	status: Status,
	role: z.literal("assistant"),
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
});
export type CallItem = z.output<typeof CallItem>;

export const OutputItem = z.discriminatedUnion("type", [ReasoningItem, MessageItem, CallItem]);
export type OutputItem = z.output<typeof OutputItem>;

type Uuid = () => string;

const itemId = (kind: "rs" | "msg" | "fc" | "call", uuid: Uuid): string =>
	`${kind}_${uuid().replaceAll("-", "")}`;

export const newReasoning = (uuid: Uuid): ReasoningItem => ({
	id: itemId("rs", uuid),
	type: "reasoning",
	status: "in_progress",
	summary: [],
	content: [],
});

export const newMessage = (uuid: Uuid): MessageItem => ({
	id: itemId("msg", uuid),
	type: "message",
	status: "in_progress",
	role: "assistant",
	content: [],
});

/** For a call that the engine gave no id, which its answer could not name otherwise. */
export const newCallId = (uuid: Uuid): string => itemId("call", uuid);

export const newCall = (uuid: Uuid, call_id: string, name: string): CallItem => ({
	id: itemId("fc", uuid),
	type: "function_call",
	status: "in_progress",
	arguments: "",
	call_id,
	name,
});

export function newPart(type: Part["type"]): Part {
	if (type === "output_text") return { type, text: "", annotations: [], logprobs: [] };
	return type === "refusal" ? { type, refusal: "" } : { type, text: "" };
}

// Engines leave out what they do not know, and have null for the bytes of a token that is not text.
const EngineTopLogprob = z.object({
	token: z.string(),
	bytes: z.array(z.number()).nullish(),
	logprob: z.number(),
});
const EngineLogprobs = z.object({
	content: z.array(EngineTopLogprob.extend({ top_logprobs: z.array(EngineTopLogprob).nullish() })),
});

/** `logprobs` of a chat choice. Empty when there are none. */
export function readLogprobs(logprobs: unknown): Logprob[] {
	const { data } = EngineLogprobs.safeParse(logprobs);
	const token = ({ token, bytes, logprob }: z.output<typeof EngineTopLogprob>) => ({
		token,
		bytes: bytes ?? [],
		logprob,
	});
	return (data?.content ?? []).map((entry) => ({
		...token(entry),
		top_logprobs: (entry.top_logprobs ?? []).map(token),
	}));
}
