/** Follows the frames that the runtime sends to the caller of a websocket, so that a close frame of the guard stands between two of them. */
import { FrameHeaders } from "./frame-headers.ts";

export class AnswerFrames {
	readonly #headers = new FrameHeaders();
	/** Of the payload of the current frame. */
	#remaining = 0;

	/** A frame has begun, and is not complete. */
	get isWithin(): boolean {
		return this.#headers.isWithin || this.#remaining > 0;
	}

	/** Follows all bytes. */
	follow(bytes: Buffer): void {
		for (let unread = bytes; unread.length > 0; ) unread = unread.subarray(this.push(unread));
	}

	/** Returns the number of bytes that belong to the current frame. */
	push(bytes: Buffer): number {
		let at = 0;
		while (at < bytes.length) {
			if (this.#remaining > 0) {
				const taken = Math.min(this.#remaining, bytes.length - at);
				this.#remaining -= taken;
				at += taken;
			} else this.#remaining = this.#headers.push(bytes[at++] ?? 0)?.payloadBytes ?? 0;
			if (!this.isWithin) break;
		}
		return at;
	}
}
