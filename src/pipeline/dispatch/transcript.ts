/**
 * What of an answer the caller has been sent, as texts: chunks are cut differently by every engine, what they add up to
 * is what two answers have in common.
 */
import { parseChunk, toolCallPieces } from "../../dialects/chat/chunks.ts";
import type { ChatChunk, ChatDelta, ToolCallDelta } from "../../tasks/text-generation/types.ts";

/** Text of one kind in a row: `reasoning`, `content`, `refusal`, or the arguments of one call of one tool. */
export interface Segment {
	channel: string;
	text: string;
}

/** What one delta adds to a segment. */
export interface Piece extends Segment {
	field: "reasoning" | "reasoning_content" | "content" | "refusal" | "tool_calls";
	/** Of a tool call: its number, counted from 0, and what its first piece has. */
	call?: { index: number; start?: { id: string; name: string } };
}

/** Takes the deltas of one choice of one answer, in order. */
export function readPieces(newId: () => string): (delta: ChatDelta) => Piece[] {
	const pieceOf = toolCallPieces(newId);
	const names: string[] = [];
	return (delta) => {
		const pieces: Piece[] = [];
		for (const field of ["reasoning_content", "reasoning", "content", "refusal"] as const) {
			const text = delta[field];
			if (!text) continue;
			// Some engines say the same text under both names.
			if (field === "reasoning" && delta.reasoning_content) continue;
			pieces.push({ channel: field === "reasoning_content" ? "reasoning" : field, field, text });
		}
		for (const call of delta.tool_calls ?? []) {
			const { index, start, arguments: text } = pieceOf(call);
			if (start) names[index] = start.name;
			const channel = `call ${index} ${names[index]}`;
			pieces.push({ channel, field: "tool_calls", text, call: { index, ...(start && { start }) } });
		}
		return pieces;
	};
}

export class Said {
	readonly segments: Segment[] = [];
	/** Of the first chunk: an answer keeps its name, whoever ends it. */
	head: Pick<ChatChunk, "id" | "created"> | undefined;
	/** The caller has been told who speaks. */
	begun = false;
	readonly #read: (delta: ChatDelta) => Piece[];
	/** The engine's numbers of the calls, which the caller knows them by. */
	readonly #indexes: number[] = [];

	constructor(newId: () => string) {
		this.#read = readPieces(newId);
	}

	/** The data of one event. Throws where it is no chat. */
	addEvent(data: string): void {
		const chunk = parseChunk(data);
		if (chunk !== "done") this.add(chunk);
	}

	add(chunk: ChatChunk): void {
		this.head ??= { id: chunk.id, created: chunk.created };
		for (const { delta, index } of chunk.choices) {
			if (index !== 0) continue;
			this.begun = true;
			this.#addDelta(delta);
		}
	}

	text(channel: string): string {
		return this.segments.map((segment) => (segment.channel === channel ? segment.text : "")).join("");
	}

	/** Which number the caller knows a call by. */
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
			if (call.start && index !== undefined) this.#indexes[call.index] = index;
		}
	}
}
