/** The frames of a websocket that wait or run: large ones count as buffered bytes of the account until they have their answer. */
import { BufferHold, HoldOwner, UNCOUNTED_BYTES } from "../core/process-counts.ts";

export class FrameHolds {
	readonly #account: string;
	readonly #owner = new HoldOwner();

	/** `closed`: of the socket. It releases all, because in the context of a caller who has left no code continues after an `await`. */
	constructor(account: string, closed: AbortSignal) {
		this.#account = account;
		closed.addEventListener("abort", () => this.#owner.release(), { once: true });
	}

	/** Returns the release of the bytes. Throws 3040 (429) if there is no room. */
	take(bytes: number): () => void {
		if (bytes <= UNCOUNTED_BYTES) return () => {};
		const hold = this.#owner.run(() => new BufferHold(this.#account));
		hold.grow(bytes);
		return () => hold.release();
	}
}
