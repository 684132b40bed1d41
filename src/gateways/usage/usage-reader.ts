/**
 * Reads the usage in the bytes of a provider's answer, in pieces of any size: a complete JSON, lines of JSON, server-sent events, or Bedrock's
 * streams. Memory is bounded for answers of any size. An answer that cannot be read has no usage.
 */
import { createParser } from "eventsource-parser";
import { parseRecord } from "../../core/json.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import { JsonOutlines } from "../../streams/json-outline.ts";
import { AwsEventReader } from "./aws-event-reader.ts";

/** Receives a complete answer or an event, or its outline. */
export type Found = (answer: Record<string, unknown>) => void;

export interface UsageReader {
	push(piece: Uint8Array): void;
	/** The answer has ended. */
	end(): void;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+|x-nd)?json(?:l|-seq)?\s*(?:;|$)/i;
const EVENTS_TYPE = /^text\/event-stream\s*(?:;|$)/i;
const AWS_EVENTS_TYPE = "application/vnd.amazon.eventstream";

/** `undefined`: answers of this type have no usage. */
export function usageReader(contentType: string | null, found: Found): UsageReader | undefined {
	const type = contentType ?? "";
	if (JSON_TYPE.test(type)) return new JsonOutlines(found);
	if (type === AWS_EVENTS_TYPE) return new AwsEventReader(found);
	return EVENTS_TYPE.test(type) ? new EventUsageReader(found) : undefined;
}

/** Bytes of an event that are kept. Only the outline of a larger one is read. */
const MAX_EVENT = 64 * 1024;
/** The names of objects with counts. To parse each event would cost more: most have none. */
const MAY_HAVE_USAGE = /"(?:usage|usageMetadata|meta)"\s*:\s*\{/;

class EventUsageReader implements UsageReader {
	readonly #splitter = new EventSplitter();
	readonly #decoder = new TextDecoder();
	readonly #outlines: JsonOutlines;
	readonly #parser;
	/** The present event is larger than {@link MAX_EVENT}. */
	#isLarge = false;

	constructor(found: Found) {
		this.#outlines = new JsonOutlines(found);
		this.#parser = createParser({
			onEvent: ({ data }) => {
				const event = parseRecord(data);
				if (event) found(event);
			},
		});
	}

	push(piece: Uint8Array): void {
		// The caller's stream may transfer the buffer of the piece.
		const { bytes, ends } = this.#splitter.push(piece.slice());
		let from = 0;
		for (const end of ends) {
			this.#readEvent(bytes.subarray(from, end));
			from = end;
		}
		if (this.#splitter.heldBytes <= MAX_EVENT) return;
		this.#isLarge = true;
		this.#outlines.push(this.#splitter.takeRemainder());
	}

	/** A last event without its blank line counts: all clients accept it. */
	end(): void {
		this.#readEvent(this.#splitter.takeRemainder());
	}

	#readEvent(event: Uint8Array): void {
		if (this.#isLarge) {
			this.#outlines.push(event);
			this.#outlines.end();
			this.#isLarge = false;
			return;
		}
		const text = this.#decoder.decode(event);
		if (MAY_HAVE_USAGE.test(text)) this.#parser.feed(`${text}\n\n`);
	}
}
