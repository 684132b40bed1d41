/**
 * Finds the parts of a provider's answer that may have its usage. The bytes arrive in pieces of any size: one JSON object, lines of
 * JSON, server-sent events, or Bedrock's streams. Memory is bounded for answers of any size. An answer that cannot be read has no usage.
 */
import { createParser } from "eventsource-parser";
import { parseRecord } from "../../core/json.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import { JsonOutlines } from "../../streams/json-outline.ts";
import { AwsEventReader } from "./aws-event-reader.ts";

/** Receives a complete answer or an event; only its outline if it is large. */
type OnPart = (part: Record<string, unknown>) => void;

interface UsageReader {
	push(piece: Uint8Array): void;
	/** The answer has ended. */
	end(): void;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+|x-nd)?json(?:l|-seq)?\s*(?:;|$)/i;
const EVENTS_TYPE = /^text\/event-stream\s*(?:;|$)/i;
const AWS_EVENTS_TYPE = "application/vnd.amazon.eventstream";

/** Whether an answer of this type is a stream of server-sent events. */
export const isEventStream = (contentType: string | null): boolean => EVENTS_TYPE.test(contentType ?? "");

interface UsageReaderOptions {
	/** Also events that have no usage. */
	everyEvent?: boolean;
	/** OpenAI's last event, after which clients may close the stream. */
	onDone?: () => void;
}

/** `undefined`: answers of this type have no usage. */
export function usageReader(
	contentType: string | null,
	onPart: OnPart,
	{ everyEvent = false, onDone }: UsageReaderOptions = {},
): UsageReader | undefined {
	const type = contentType ?? "";
	if (JSON_TYPE.test(type)) return new JsonOutlines(onPart);
	if (type === AWS_EVENTS_TYPE) return new AwsEventReader(onPart);
	return isEventStream(type) ? new EventUsageReader(onPart, everyEvent, onDone) : undefined;
}

/** Bytes of an event that are kept. Only the outline of a larger one is read. */
const MAX_EVENT_BYTES = 64 * 1024;
/** The names of objects with counts. Most events have none, and are not parsed. */
const MAY_HAVE_USAGE = /"(?:usage|usageMetadata|meta)"\s*:\s*\{/;

class EventUsageReader implements UsageReader {
	readonly #splitter = new EventSplitter();
	readonly #outlines: JsonOutlines;
	readonly #parser;
	readonly #everyEvent: boolean;
	/** The current event is larger than {@link MAX_EVENT_BYTES}. */
	#isLarge = false;

	constructor(onPart: OnPart, everyEvent: boolean, onDone?: () => void) {
		this.#everyEvent = everyEvent;
		this.#outlines = new JsonOutlines(onPart);
		this.#parser = createParser({
			onEvent: ({ data }) => {
				const event = parseRecord(data);
				if (event) onPart(event);
				else if (data === "[DONE]") onDone?.();
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
		if (this.#splitter.heldBytes <= MAX_EVENT_BYTES) return;
		this.#isLarge = true;
		this.#outlines.push(this.#splitter.takeRemainder());
	}

	/** The last event may lack its blank line: all clients accept that. */
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
		const text = decodeUtf8(event);
		if (this.#everyEvent || MAY_HAVE_USAGE.test(text)) this.#parser.feed(`${text}\n\n`);
	}
}
