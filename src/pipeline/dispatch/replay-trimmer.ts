/**
 * Joins a second answer to the transcript of a first one: drops the part that it repeats, and passes on the rest. The second
 * answer must repeat the expected part to the byte, in the same order, before it may add anything. Its sealed reasoning passes, because
 * the engine that ends the answer reads it in the next turn.
 */
import { callSeal, isSealedDetail } from "../../backends/sealed-messages.ts";
import { sealOfField } from "../../dialects/chat/sealed.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";
import { type Piece, pieceReader, type Segment, type Transcript } from "./transcript.ts";

type SealedReasoning = Pick<ChatDelta, "thinking_blocks" | "extra_content" | "reasoning_details">;

/** The second answer differs from the first one. */
export class DivergedError extends Error {
	override readonly name = "DivergedError";
}

export class ReplayTrimmer {
	readonly #transcript: Transcript;
	/** The part that the second answer repeats. */
	readonly #expected: readonly Segment[];
	readonly #read: (delta: ChatDelta) => Piece[];
	/** Index of the segment that is being repeated, and the length of its repeated part. */
	#at = -1;
	#offset = 0;
	/** The reasoning that the second engine has sealed, until the caller may have it. */
	#seals: SealedReasoning = {};

	constructor(transcript: Transcript, expected: readonly Segment[], newId: () => string) {
		this.#transcript = transcript;
		this.#expected = expected.map((segment) => ({ ...segment }));
		this.#read = pieceReader(newId);
	}

	/** The part of `chunk` that is new to the caller; `undefined` if nothing is. Throws `DivergedError`. */
	trim(chunk: ChatChunk): ChatChunk | undefined {
		const { head } = this.#transcript;
		const own = head ? { ...chunk, ...head } : chunk;
		const choice = chunk.choices.find(({ index }) => index === 0);
		if (!choice) return chunk.usage ? { ...own, choices: [] } : undefined;
		const delta = this.#newPartOf(choice.delta);
		const ends = Boolean(choice.finish_reason);
		if (ends && !this.caughtUp) throw new DivergedError();
		if (Object.keys(delta).length === 0 && !ends && !chunk.usage) return undefined;
		return { ...own, choices: [{ ...choice, delta }] };
	}

	/** Everything that was expected has been repeated. */
	get caughtUp(): boolean {
		const last = this.#expected.length - 1;
		if (this.#at !== last) return this.#at > last;
		return this.#offset >= (this.#expected[last]?.text.length ?? 0);
	}

	#newPartOf(delta: ChatDelta): ChatDelta {
		const fresh: ChatDelta = {};
		if (!this.#transcript.hasRole && delta.role) fresh.role = delta.role;
		for (const { channel, field, text, call } of this.#read(delta)) {
			const repeated = this.#matchRepeated(channel, text);
			const added = text.slice(repeated.characters);
			if (call) {
				const begins = call.start && !repeated.begun;
				const { extra_content } = call.start ?? {};
				if (!added && !begins) continue;
				fresh.tool_calls ??= [];
				fresh.tool_calls.push({
					index: this.#transcript.indexOf(call.index),
					...(begins && { id: call.start?.id, type: "function" }),
					...(begins && extra_content && { extra_content }),
					function: { ...(begins && { name: call.start?.name }), arguments: added },
				});
			} else if (added && field !== "tool_calls") fresh[field] = added;
		}
		this.#hold(delta);
		return this.#maySeal ? { ...fresh, ...this.#release() } : fresh;
	}

	/**
	 * The answer continues the first one, and the caller has no call that the reasoning belongs before. The reasoning of such a call is not
	 * carried: no format can put it there.
	 */
	get #maySeal(): boolean {
		const last = this.#expected.at(-1);
		return this.caughtUp && (this.#at >= this.#expected.length || !last?.channel.startsWith("call "));
	}

	#hold({ thinking_blocks, extra_content, reasoning_details }: ChatDelta): void {
		const seals = sealOfField(extra_content);
		const details = (reasoning_details ?? []).filter(isSealedDetail);
		if (!thinking_blocks?.length && !seals && details.length === 0) return;
		const held = this.#seals;
		this.#seals = {
			thinking_blocks: [...(held.thinking_blocks ?? []), ...(thinking_blocks ?? [])],
			reasoning_details: [...(held.reasoning_details ?? []), ...details],
			...callSeal(sealOfField(held.extra_content) + seals),
		};
	}

	#release(): SealedReasoning {
		const { thinking_blocks, reasoning_details, ...seals } = this.#seals;
		this.#seals = {};
		return {
			...seals,
			...(thinking_blocks?.length && { thinking_blocks }),
			...(reasoning_details?.length && { reasoning_details }),
		};
	}

	/** How many characters of the text repeat the transcript, and whether its segment had begun there. */
	#matchRepeated(channel: string, text: string): { characters: number; begun: boolean } {
		let current = this.#expected[this.#at];
		if (current?.channel !== channel) {
			if (current && this.#offset < current.text.length) throw new DivergedError();
			this.#at++;
			this.#offset = 0;
			current = this.#expected[this.#at];
			if (current && current.channel !== channel) throw new DivergedError();
		}
		if (!current) return { characters: 0, begun: false };
		const characters = Math.min(text.length, current.text.length - this.#offset);
		if (text.slice(0, characters) !== current.text.slice(this.#offset, this.#offset + characters))
			throw new DivergedError();
		this.#offset += characters;
		if (characters < text.length && this.#at < this.#expected.length - 1) throw new DivergedError();
		return { characters, begun: true };
	}
}
