/** The API's events since the last delta, for a caller who gets them unchanged, except for seals and arguments. */
import type { ThinkingBlock } from "../../tasks/text-generation/types.ts";
import type { Event } from "./stream-event.ts";

/** A thinking block that has ended. */
interface EndedThoughts {
	index: Event["index"];
	sealed: ThinkingBlock | undefined;
	isRedacted: boolean;
}

export class ForwardedEvents {
	readonly #events: Event[] = [];

	get length(): number {
		return this.#events.length;
	}

	push(event: Event): void {
		this.#events.push(event);
	}

	/** The latest event is not forwarded. */
	drop(): void {
		this.#events.pop();
	}

	take(): Event[] {
		return this.#events.splice(0);
	}

	/** Adds complete arguments, before the end of their block. */
	addArguments(index: Event["index"], partial_json: string): void {
		const end = this.#events.pop();
		const delta = { type: "input_json_delta", partial_json };
		if (end) this.#events.push({ type: "content_block_delta", index, delta }, end);
	}

	/** Adds the seal, before the end of the block. Redacted thinking without a seal is not forwarded. */
	addSeal({ index, sealed, isRedacted }: EndedThoughts): void {
		const end = this.#events.pop();
		if (!end) return;
		if (sealed?.type === "redacted_thinking")
			this.#events.push({ type: "content_block_start", index, content_block: { ...sealed } }, end);
		else if (sealed) {
			const delta = { type: "signature_delta", signature: sealed.signature };
			this.#events.push({ type: "content_block_delta", index, delta }, end);
		} else if (!isRedacted) this.#events.push(end);
	}
}
