/** Writes the blocks of a streamed message. As in Anthropic's API, one is open at a time. */
import { namedFrame } from "../../streams/sse.ts";
import type { OpenToolUse } from "./open-tool-use.ts";
import type { Block } from "./reply.ts";

export type OpenBlock =
	| { type: "text"; text: string }
	| { type: "thinking" | "verbatim" | "search" }
	| { type: "tool_use"; call: OpenToolUse };

export const event = (type: string, fields: object = {}): string => namedFrame(type, { type, ...fields });

/** Each method returns the events to send. */
export class BlockWriter {
	open: OpenBlock | undefined;
	#blocks = 0;
	readonly #citationsOf: (text: string) => readonly object[];

	/** @param citationsOf the citations of a text, which are sent before its end. */
	constructor(citationsOf: (text: string) => readonly object[]) {
		this.#citationsOf = citationsOf;
	}

	/** The open block must be closed before. */
	start(open: OpenBlock, content_block: Block): string {
		this.open = open;
		const index = this.#blocks++;
		// Anthropic's streams have a ping here.
		const ping = index === 0 ? event("ping") : "";
		return event("content_block_start", { index, content_block }) + ping;
	}

	delta(delta: object): string {
		return event("content_block_delta", { index: this.#blocks - 1, delta });
	}

	sendArguments(call: OpenToolUse, isEnd = false): string {
		const partial_json = call.take(isEnd);
		return partial_json ? this.delta({ type: "input_json_delta", partial_json }) : "";
	}

	close(): string {
		if (!this.open) return "";
		let out = "";
		if (this.open.type === "text")
			out = this.#citationsOf(this.open.text)
				.map((citation) => this.delta({ type: "citations_delta", citation }))
				.join("");
		else if (this.open.type === "tool_use") {
			out = this.sendArguments(this.open.call, true);
			this.open.call.isClosed = true;
		}
		this.open = undefined;
		return out + event("content_block_stop", { index: this.#blocks - 1 });
	}
}
