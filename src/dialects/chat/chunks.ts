/**
 * Reading and making OpenAI chat chunk streams: one event to a chunk, chunks to a reply, a finished reply to chunks.
 * What is read comes from engines of all kinds, so only the fields that are used are looked at, and any may be absent.
 */
import * as z from "zod";
import { AiError } from "../../errors.ts";
import { DONE, frame } from "../../sse.ts";
import type {
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ToolCall,
	ToolCallDelta,
	Usage,
} from "../../tasks/text-generation.ts";
import { laterUsage, SentUsage } from "./usage.ts";

const text = z.string().nullish();

const WireToolCall = z.looseObject({
	index: z.number().default(0),
	id: text,
	type: text,
	function: z.looseObject({ name: text, arguments: text }).nullish(),
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
	id: z.string().default(""),
	object: z.literal("chat.completion.chunk").default("chat.completion.chunk"),
	created: z.number().default(0),
	model: z.string().default(""),
	choices: z.array(
		z.looseObject({
			index: z.number().default(0),
			delta: WireDelta.default({}),
			finish_reason: text,
		}),
	),
	usage: SentUsage.nullish(),
});

/** One event's data. What an engine left out of `id`, `created` and `model` is empty. Throws 5001. */
export function parseChunk(data: string): ChatChunk | "done" {
	if (data === "[DONE]") return "done";
	try {
		return WireChunk.parse(JSON.parse(data));
	} catch (cause) {
		throw new AiError("executionFailed", "The engine sent a malformed chunk", { cause });
	}
}

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

/** A reply as far as its stream has come. */
export interface GatheredReply {
	text: string;
	reasoning: string;
	refusal: string;
	toolCalls: ToolCall[];
	/** Absent until the engine has said why it stopped. */
	finish_reason?: string;
	usage?: Usage;
}

/** Puts the chunks of a stream together. Only the first choice counts: who asks for several wants them as they are. */
export function gatherChunks(newId: () => string): { add(chunk: ChatChunk): void; reply: GatheredReply } {
	const reply: GatheredReply = { text: "", reasoning: "", refusal: "", toolCalls: [] };
	const pieceOf = toolCallPieces(newId);
	return {
		reply,
		add(chunk) {
			reply.usage = laterUsage(reply.usage, chunk.usage);
			const choice = firstChoice(chunk);
			if (!choice) return;
			const { delta, finish_reason } = choice;
			reply.text += delta.content ?? "";
			reply.reasoning += reasoningOf(delta);
			reply.refusal += delta.refusal ?? "";
			if (finish_reason) reply.finish_reason = finish_reason;
			for (const call of delta.tool_calls ?? []) {
				const { index, start, arguments: fragment } = pieceOf(call);
				if (start)
					reply.toolCalls[index] = {
						id: start.id,
						type: "function",
						function: { name: start.name, arguments: fragment },
					};
				else if (reply.toolCalls[index]) reply.toolCalls[index].function.arguments += fragment;
			}
		},
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
		const { reasoning_content, reasoning, content, refusal, tool_calls } = message;
		if (reasoning_content || reasoning)
			say({ ...(reasoning_content && { reasoning_content }), ...(reasoning && { reasoning }) });
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
