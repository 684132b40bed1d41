/**
 * Reading and making OpenAI chat chunk streams: one event to a chunk, a finished reply to chunks. What is read comes
 * from engines of all kinds, so only the fields that are used are looked at, and any may be absent or `null`.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { SentUsage } from "../../core/usage.ts";
import { DONE, frame, isDone } from "../../streams/sse.ts";
import type {
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ToolCallDelta,
} from "../../tasks/text-generation/types.ts";

const text = z.string().nullish();
const textOrEmpty = text.transform((sent) => sent ?? "");
const numberOrZero = z
	.number()
	.nullish()
	.transform((sent) => sent ?? 0);

/** JSON text; some engines send the value itself. */
const argumentsText = z
	.unknown()
	.optional()
	.transform((sent) =>
		typeof sent === "string" || sent === undefined || sent === null ? sent : JSON.stringify(sent),
	);

const WireToolCall = z.looseObject({
	index: numberOrZero,
	id: text,
	type: text,
	function: z.looseObject({ name: text, arguments: argumentsText }).nullish(),
});

const WireDelta = z.looseObject({
	role: text,
	content: text,
	refusal: text,
	reasoning_content: text,
	reasoning: text,
	tool_calls: z.array(WireToolCall).nullish(),
});

const WireChunk = z.looseObject({
	id: textOrEmpty,
	object: z.literal("chat.completion.chunk").catch("chat.completion.chunk"),
	created: numberOrZero,
	model: textOrEmpty,
	choices: z
		.array(
			z.looseObject({
				index: numberOrZero,
				delta: WireDelta.nullish().transform((sent) => sent ?? {}),
				finish_reason: text,
			}),
		)
		.nullable()
		.transform((sent) => sent ?? []),
	usage: SentUsage.transform((usage) => usage ?? null).optional(),
});

/**
 * One event's data, and what it is as JSON where that is known. What an engine left out of `id`, `created` and `model`
 * is empty. Throws 5001.
 */
export function parseChunk(data: string, value?: unknown): ChatChunk | "done" {
	if (value !== undefined) return readChunk(value);
	return isDone(data) ? "done" : readChunk(parseJson(data));
}

/** The same of data that is parsed. */
export function readChunk(sent: unknown): ChatChunk {
	if (isPlainChunk(sent)) return sent;
	const { data, error } = WireChunk.safeParse(sent);
	if (data) return data;
	throw new AiError("executionFailed", "The engine sent a malformed chunk", { cause: error });
}

/**
 * Whether the schema would change nothing of a chunk that says a piece of text. Nearly all do, and the schema takes ten
 * times as long to find out.
 */
function isPlainChunk(sent: unknown): sent is ChatChunk {
	if (!isRecord(sent) || !Array.isArray(sent.choices)) return false;
	const { id, object, created, model, choices, usage } = sent;
	return (
		typeof id === "string" &&
		object === "chat.completion.chunk" &&
		typeof created === "number" &&
		typeof model === "string" &&
		(usage === undefined || usage === null) &&
		choices.every(isPlainChoice)
	);
}

function isPlainChoice(choice: unknown): boolean {
	if (!isRecord(choice) || typeof choice.index !== "number" || !isRecord(choice.delta)) return false;
	const { role, content, refusal, reasoning_content, reasoning, tool_calls } = choice.delta;
	return (
		isText(choice.finish_reason) &&
		isText(role) &&
		isText(content) &&
		isText(refusal) &&
		isText(reasoning_content) &&
		isText(reasoning) &&
		(tool_calls === undefined || tool_calls === null)
	);
}

const isText = (value: unknown): boolean =>
	typeof value === "string" || value === undefined || value === null;

/** A part of one tool call; `start` on its first. */
export interface ToolCallPiece {
	index: number;
	start?: { id: string; name: string };
	arguments: string;
}

/**
 * Tells where calls begin. Not every engine counts them: a name at an index that is taken begins another call, unless
 * it comes with the id of the one that is there, as engines do that repeat both with each fragment. Calls are counted
 * anew, from 0, in order.
 */
export function toolCallPieces(newId: () => string): (delta: ToolCallDelta) => ToolCallPiece {
	const open = new Map<number, { id: string; index: number }>();
	let calls = 0;
	return (delta) => {
		const { id, function: called } = delta;
		const known = open.get(delta.index);
		const fragment = called?.arguments ?? "";
		if (known && (!called?.name || id === known.id)) return { index: known.index, arguments: fragment };
		const begun = { id: id || newId(), index: calls++ };
		open.set(delta.index, begun);
		return { index: begun.index, start: { id: begun.id, name: called?.name ?? "" }, arguments: fragment };
	};
}

export const firstChoice = (chunk: ChatChunk): ChatChunk["choices"][number] | undefined =>
	chunk.choices.find(({ index }) => index === 0);

/** Engines name it one way or the other; some say the same text under both names. */
export const reasoningOf = (said: Pick<ChatDelta, "reasoning" | "reasoning_content">): string =>
	said.reasoning_content || said.reasoning || "";

/** The stream that would have given this completion: a role, the texts whole, the calls whole, the end, the usage. */
export function completionToChunks(completion: ChatCompletion): ReadableStream<Uint8Array> {
	const { id, created, model, choices, usage } = completion;
	const chunk = (fields: Pick<ChatChunk, "choices" | "usage">): string =>
		frame({ id, object: "chat.completion.chunk", created, model, ...fields } satisfies ChatChunk);
	let events = "";
	for (const { index, message, finish_reason, logprobs } of choices) {
		const say = (delta: ChatDelta, more: object = {}): void => {
			events += chunk({ choices: [{ index, delta, finish_reason: null, ...more }] });
		};
		say({ role: "assistant", content: "" });
		const { reasoning_content, reasoning, thinking_blocks, content, refusal, tool_calls } = message;
		if (reasoning_content || reasoning)
			say({ ...(reasoning_content && { reasoning_content }), ...(reasoning && { reasoning }) });
		if (thinking_blocks?.length) say({ thinking_blocks });
		if (content) say({ content }, logprobs ? { logprobs } : {});
		if (refusal) say({ refusal });
		if (tool_calls?.length) say({ tool_calls: tool_calls.map((call, place) => ({ index: place, ...call })) });
		events += chunk({ choices: [{ index, delta: {}, finish_reason }] });
	}
	if (usage) events += chunk({ choices: [], usage });
	const bytes = new TextEncoder().encode(events + DONE);
	return new ReadableStream({
		start(controller) {
			controller.enqueue(bytes);
			controller.close();
		},
	});
}
