/**
 * Joins a second answer to what was said of a first: what it repeats is dropped, what is new is passed on as the first
 * one's. It must repeat what is expected to the byte, in the same order, before it may say anything else.
 */
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";
import { type Piece, readPieces, type Said, type Segment } from "./transcript.ts";

/** The second answer is another one. */
export class Mismatch extends Error {
	override readonly name = "Mismatch";
}

export class Rejoin {
	readonly #said: Said;
	/** Which the second answer will say again. */
	readonly #expected: readonly Segment[];
	readonly #read: (delta: ChatDelta) => Piece[];
	/** The segment that is being repeated, and how much of it has been. */
	#at = -1;
	#offset = 0;

	constructor(said: Said, expected: readonly Segment[], newId: () => string) {
		this.#said = said;
		this.#expected = expected.map((segment) => ({ ...segment }));
		this.#read = readPieces(newId);
	}

	/** What of `chunk` the caller has not had; `undefined`: nothing. Throws `Mismatch`. */
	take(chunk: ChatChunk): ChatChunk | undefined {
		const { head } = this.#said;
		const own = head ? { ...chunk, ...head } : chunk;
		const choice = chunk.choices.find(({ index }) => index === 0);
		if (!choice) return chunk.usage ? { ...own, choices: [] } : undefined;
		const delta = this.#newOf(choice.delta);
		const ends = Boolean(choice.finish_reason);
		if (ends && !this.caughtUp) throw new Mismatch();
		if (Object.keys(delta).length === 0 && !ends && !chunk.usage) return undefined;
		return { ...own, choices: [{ ...choice, delta }] };
	}

	/** All that was expected has been repeated. */
	get caughtUp(): boolean {
		const last = this.#expected.length - 1;
		if (this.#at !== last) return this.#at > last;
		return this.#offset >= (this.#expected[last]?.text.length ?? 0);
	}

	#newOf(delta: ChatDelta): ChatDelta {
		const fresh: ChatDelta = {};
		if (!this.#said.begun && delta.role) fresh.role = delta.role;
		for (const { channel, field, text, call } of this.#read(delta)) {
			const repeats = this.#repeats(channel, text);
			const rest = text.slice(repeats.characters);
			if (call) {
				const begins = call.start && !repeats.begun;
				if (!rest && !begins) continue;
				fresh.tool_calls ??= [];
				fresh.tool_calls.push({
					index: repeats.begun ? this.#said.indexOf(call.index) : call.index,
					...(begins && { id: call.start?.id, type: "function" }),
					function: { ...(begins && { name: call.start?.name }), arguments: rest },
				});
			} else if (rest && field !== "tool_calls") fresh[field] = rest;
		}
		return fresh;
	}

	/** How much of the text is a repetition, and whether its segment is. */
	#repeats(channel: string, text: string): { characters: number; begun: boolean } {
		let current = this.#expected[this.#at];
		if (current?.channel !== channel) {
			if (current && this.#offset < current.text.length) throw new Mismatch();
			this.#at++;
			this.#offset = 0;
			current = this.#expected[this.#at];
			if (current && current.channel !== channel) throw new Mismatch();
		}
		if (!current) return { characters: 0, begun: false };
		const characters = Math.min(text.length, current.text.length - this.#offset);
		if (text.slice(0, characters) !== current.text.slice(this.#offset, this.#offset + characters))
			throw new Mismatch();
		this.#offset += characters;
		if (characters < text.length && this.#at < this.#expected.length - 1) throw new Mismatch();
		return { characters, begun: true };
	}
}
