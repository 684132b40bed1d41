import { BufferHold } from "../core/process-counts.ts";

/** A request whose calls read replies. */
interface HoldingRequest {
	readonly account: string;
	readonly state: string;
	/** Resolves at the end. */
	readonly ended: Promise<void>;
}

/** Before the reply of a call grows. Throws 3040 (429) if the process may hold no more. */
export function growReply(attempt: { reply?: ReplyHold }, request: HoldingRequest, bytes: number): void {
	attempt.reply ??= new ReplyHold(request);
	attempt.reply.grow(bytes);
}

/** The bytes of one engine's reply that is read whole. They count as buffered until its call fails or the request ends. */
export class ReplyHold {
	readonly #request: HoldingRequest;
	#hold: BufferHold | undefined;

	constructor(request: HoldingRequest) {
		this.#request = request;
	}

	/** Before the reply grows. Throws 3040 (429) if the process may hold no more. */
	grow(bytes: number): void {
		const { account, ended, state } = this.#request;
		if (state === "ended") return;
		if (!this.#hold) {
			this.#hold = new BufferHold(account);
			void ended.then(() => this.release());
		}
		this.#hold.grow(bytes);
	}

	/** May be called again. */
	release(): void {
		this.#hold?.release();
	}
}
