/**
 * An upstream's stream in events of its own, answered in OpenAI chunks. Each backend brings its {@link Translator};
 * time, failures, the first event and cancelling are the same for all (`relay.ts`).
 *
 * Comments and `ping` events become comments. Other events that stand for nothing are dropped.
 */
import { createParser } from "eventsource-parser";
import type { z } from "zod";
import { AiError } from "../../core/errors.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import { type EventPiece, type StreamEvent, textOf } from "../../streams/sse.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import { postForStream, type RequestBody, type RequestOptions, type StreamReply } from "./http.ts";
import { StreamProgress } from "./progress.ts";
import { type EventReader, type FailureOfCall, relay } from "./relay.ts";
import type { Call } from "./upstream-failure.ts";

/** One event of an upstream: of a server-sent one its name, if it has one, and its data; else a line. */
export interface UpstreamEvent {
	event?: string;
	data: string;
}

/** One upstream's events to OpenAI's. One for each stream. */
export interface Translator {
	/**
	 * The event taken last was the upstream's own end of the answer: `end()` is asked at once, and not when the
	 * connection has closed. For upstreams that have such an event.
	 */
	readonly done?: boolean;
	/**
	 * Chunks that one event stands for, often none. Throws an `AiError` for an event that is an error; anything else
	 * that it throws (`JSON.parse`, a schema's `parse`) says that the event is malformed.
	 */
	take(event: UpstreamEvent): ChatChunk[];
	/** What is left to say when the upstream has stopped, the usage among it; `undefined`: it stopped too soon. Asked once. */
	end(): ChatChunk[] | undefined;
}

export interface TranslationOptions<Schema> extends RequestOptions {
	/** Of an upstream that answers at once, although a stream was asked for. */
	schema: Schema;
	translator: Translator;
	/** `sse` when absent. */
	format?: EventFormat;
	/** What is asked for, where it is not the usual type of `format`, or JSON. */
	accept?: string;
}

/** What says that a body is a stream. There is no registered type for JSON lines. */
const TYPES: Record<EventFormat, readonly [string, ...string[]]> = {
	sse: ["text/event-stream"],
	ndjson: ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"],
};

/**
 * Asks for a stream in the upstream's own events, and waits until it stands for a first chunk. The stream belongs to
 * whoever reads it; cancelling it, and the caller's leaving, end the upstream's fetch.
 */
export const postTranslated = <Schema extends z.ZodType>(
	call: Call,
	path: string,
	body: RequestBody,
	{ schema, translator, format = "sse", accept, headers }: TranslationOptions<Schema>,
): Promise<StreamReply<z.output<Schema>>> =>
	postForStream(call, {
		path,
		body,
		accept: accept ?? `${TYPES[format][0]}, application/json`,
		headers,
		types: TYPES[format],
		schema,
		take: (source, deadline) => relay(call, source, deadline, new Translation(call, translator, format)),
	});

/** Its bytes are made when somebody asks for them. */
const translated = (events: readonly StreamEvent[]): EventPiece => ({
	events,
	get bytes() {
		return new TextEncoder().encode(events.map(textOf).join(""));
	},
});

/** Anthropic's keep-alive is an event. */
const PING = "ping";

class Translation implements EventReader {
	sawEvent = false;
	done = false;
	readonly format: EventFormat;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #translator: Translator;
	#said: StreamEvent[] = [];
	#error: AiError | undefined;
	#ifMalformed: FailureOfCall | undefined;
	readonly #decoder = new TextDecoder();
	readonly #parser = createParser({
		onEvent: ({ event, data }) => this.#read(event, data),
		onComment: (comment) => this.#said.push({ comment }),
	});

	constructor(call: Call, translator: Translator, format: EventFormat) {
		this.#call = call;
		this.#translator = translator;
		this.format = format;
	}

	see(event: Uint8Array, ifMalformed: FailureOfCall, said: StreamEvent[]): AiError | undefined {
		this.sawEvent = false;
		this.#error = undefined;
		this.#ifMalformed = ifMalformed;
		this.#said = said;
		const text = this.#decoder.decode(event);
		if (this.format === "sse") this.#parser.feed(text);
		else if (text.trim() !== "") this.#read(undefined, text.trim());
		return this.#error;
	}

	pass(_: Uint8Array, events: readonly StreamEvent[]): EventPiece | undefined {
		return events.length > 0 ? translated(events) : undefined;
	}

	end(): EventPiece | undefined {
		this.#said = [];
		if (!this.done) this.#finish();
		return this.done ? translated(this.#said) : undefined;
	}

	#read(event: string | undefined, data: string): void {
		this.sawEvent = true;
		if (event === PING) this.#said.push({ comment: PING });
		try {
			this.#say(this.#translator.take(event === undefined ? { data } : { event, data }));
		} catch (error) {
			this.#error = error instanceof AiError ? error : this.#ifMalformed?.(this.#call);
			return;
		}
		if (this.#translator.done) this.#finish();
	}

	#finish(): void {
		const last = this.#translator.end();
		if (!last) return;
		this.#say(last);
		this.#said.push({ data: "[DONE]" });
		this.done = true;
	}

	#say(chunks: ChatChunk[]): void {
		for (const chunk of chunks) {
			this.progress.see(chunk);
			this.#said.push({ data: JSON.stringify(chunk) });
		}
	}
}
