/** The arguments of a call whose item has been added, in the pieces of the stream. */
import { mayBeEncodedTwice } from "../../tool-arguments.ts";

export class OpenToolCall {
	/** The index among the calls of the answer. */
	readonly index: number;
	readonly #isCustom: boolean;
	/** The characters of its arguments that are sent. */
	#sent = 0;
	/** The input of a custom tool, which is sent when it is complete. */
	#input = "";
	#isHeld = false;

	constructor(index: number, isCustom: boolean) {
		this.index = index;
		this.#isCustom = isCustom;
	}

	/** Its arguments may be encoded twice. They are sent when they are complete. */
	get isHeld(): boolean {
		return this.#isHeld;
	}

	/** Returns what to send of a piece. */
	add(piece: string): string {
		if (this.#isCustom) {
			this.#input += piece;
			return "";
		}
		if (this.#sent === 0) this.#isHeld ||= mayBeEncodedTwice(piece);
		if (this.#isHeld) return "";
		this.#sent += piece.length;
		return piece;
	}

	/** Returns what is not sent. Called with the complete text: when it is done, when the item is done, and when the response is. */
	complete(text: string): string {
		if (this.#isCustom && this.#sent > 0) return "";
		const unsent = this.#isCustom ? JSON.stringify({ input: text || this.#input }) : text.slice(this.#sent);
		this.#sent += unsent.length;
		return unsent;
	}
}
