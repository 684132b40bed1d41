/**
 * The text that the caller has received, by channel. Every engine cuts an answer into different chunks, so two answers are
 * compared by the text that their chunks add up to.
 */
import { parseChunk, toolCallFragments } from "../../dialects/chat/chunks.ts";
import type { ChatChunk, ChatDelta, ToolCallDelta } from "../../tasks/text-generation/types.ts";

/** Consecutive text of one channel: `reasoning`, `content`, `refusal`, or the arguments of one tool call. */
export interface Segment {
	channel: string;
	text: string;
}

interface CallStart extends Pick<ToolCallDelta, "extra_content"> {
	id: string;
	name: string;
}

/** The part that one delta adds to a segment. */
export interface Piece extends Segment {
	field: "reasoning" | "reasoning_content" | "content" | "refusal" | "tool_calls";
	/** For a tool call: its index, counted from 0, and the id and name of its first piece. */
	call?: { index: number; start?: CallStart };
}

/** Reads the deltas of one choice of one answer, in order. */
export function pieceReader(newId: () => string): (delta: ChatDelta) => Piece[] {
	const pieceOf = toolCallFragments(newId);
	const names: string[] = [];
	return (delta) => {
		const pieces: Piece[] = [];
		for (const field of ["reasoning_content", "reasoning", "content", "refusal"] as const) {
			const text = delta[field];
			if (!text) continue;
			// Some engines send the same text in both fields.
			if (field === "reasoning" && delta.reasoning_content) continue;
			pieces.push({ channel: field === "reasoning_content" ? "reasoning" : field, field, text });
		}
		for (const call of delta.tool_calls ?? []) {
			const { index, start, arguments: text } = pieceOf(call);
			if (start) names[index] = start.name;
			const channel = `call ${index} ${names[index]}`;
			const { extra_content } = call;
			const begun = start && { ...start, ...(extra_content && { extra_content }) };
			pieces.push({ channel, field: "tool_calls", text, call: { index, ...(begun && { start: begun }) } });
		}
		return pieces;
	};
}

export class Transcript {
	readonly segments: Segment[] = [];
	/** From the first chunk: the answer keeps its id, whichever engine ends it. */
	head: Pick<ChatChunk, "id" | "created"> | undefined;
	/** The caller has received the role. */
	hasRole = false;
	readonly #read: (delta: ChatDelta) => Piece[];
	/** The first engine's indexes of the tool calls, which the caller has received. */
	readonly #indexes: number[] = [];

	constructor(newId: () => string) {
		this.#read = pieceReader(newId);
	}

	/** Adds the data of one event. Throws if it is not a chat chunk. */
	addEvent(data: string): void {
		const chunk = parseChunk(data);
		if (chunk !== "done") this.add(chunk);
	}

	add(chunk: ChatChunk): void {
		this.head ??= { id: chunk.id, created: chunk.created };
		for (const { delta, index } of chunk.choices) {
			if (index !== 0) continue;
			this.hasRole = true;
			this.#addDelta(delta);
		}
	}

	text(channel: string): string {
		return this.segments.map((segment) => (segment.channel === channel ? segment.text : "")).join("");
	}

	/** The index by which the caller knows a tool call. */
	indexOf(call: number): number {
		return this.#indexes[call] ?? call;
	}

	#addDelta(delta: ChatDelta): void {
		const sent: ToolCallDelta[] = [...(delta.tool_calls ?? [])];
		for (const { channel, text, call } of this.#read(delta)) {
			const last = this.segments.at(-1);
			if (last?.channel === channel) last.text += text;
			else this.segments.push({ channel, text });
			if (!call) continue;
			const index = sent.shift()?.index;
			if (index !== undefined) this.#indexes[call.index] = index;
		}
	}
}
