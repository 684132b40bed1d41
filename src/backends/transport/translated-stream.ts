/**
 * Translates an upstream's own events to OpenAI chunks. Each backend has its {@link Translator}; time limits, failures,
 * the first event and cancellation are the same for all (`event-scanner.ts`).
 *
 * Comments and `ping` events become comments. Other events without chunks are dropped.
 *
 * Most chunks have the same text, except for the content of the delta: they are written from a template, and later stages copy their bytes.
 */
import { createParser } from "eventsource-parser";
import type { z } from "zod";
import { AiError } from "../../core/errors.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { type DeltaContent, DeltaEvent, EventTemplate, Output } from "../../streams/delta-event.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import { type EventPiece, isDone, type StreamEvent, textOf } from "../../streams/sse.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import { dataLines } from "./chunk-text.ts";
import type { EventReader, MalformedEvent } from "./event-scanner.ts";
import { BLANK_END } from "./event-text.ts";
import { postForStream, type RequestBody, type RequestOptions, type StreamReply } from "./http.ts";
import { StreamProgress } from "./progress.ts";
import { relay } from "./relay.ts";
import type { Call } from "./upstream-failure.ts";

/** A server-sent event with its name, if it has one, or a line of NDJSON. */
export interface UpstreamEvent {
	event?: string;
	data: string;
}

/** Translates the events of one stream. */
export interface Translator {
	/**
	 * The last event was the upstream's own end event: `end()` is called at once, not when the connection has closed. For
	 * upstreams that have such an event.
	 */
	readonly done?: boolean;
	/**
	 * Returns the chunks for one event, often none. Throws an `AiError` for an error event. Any other exception
	 * (`JSON.parse`, a schema's `parse`) means that the event is malformed.
	 */
	translate(event: UpstreamEvent): ChatChunk[];
	/**
	 * Reads the bytes of a complete event without parsing them. `undefined`: `translate` must be called. Called after a chunk that
	 * had only content. A content stands for such a chunk, with the same fields.
	 */
	readContent?(event: Uint8Array): DeltaContent | undefined;
	/** The upstream has sent OpenAI's end (`[DONE]`), which {@link translate} does not get. */
	readDone?(): void;
	/** The upstream has ended. Returns the last chunks, with the usage; `undefined`: the answer is incomplete. Called once. */
	end(): ChatChunk[] | undefined;
}

export interface TranslationOptions<Schema, Other = never> extends RequestOptions {
	/** The schema of a reply that is no stream, although a stream was requested. */
	schema: Schema;
	/** Reads a reply that is neither a stream nor accepted by the schema. */
	readOther?: (text: string) => Other | undefined;
	translator: Translator;
	/** `sse` when absent. */
	format?: EventFormat | undefined;
	/** Overrides the `accept` header of `format`. */
	accept?: string;
}

type Heading = Pick<ChatChunk, "id" | "created" | "model">;

/** Media types of a stream. JSON lines have no registered type. */
const TYPES: Record<EventFormat, readonly [string, ...string[]]> = {
	sse: ["text/event-stream"],
	ndjson: ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"],
};

/**
 * Requests a stream of the upstream's own events, and waits for its first chunk. The reader owns the stream. Cancelling
 * it aborts the upstream's fetch, and so does the caller's signal.
 */
export const postTranslated = <Schema extends z.ZodType, Other = never>(
	call: Call,
	path: string,
	body: RequestBody,
	{ schema, readOther, translator, format = "sse", accept, headers }: TranslationOptions<Schema, Other>,
): Promise<StreamReply<z.output<Schema> | Other>> =>
	postForStream(call, {
		path,
		body,
		accept: accept ?? `${TYPES[format][0]}, application/json`,
		headers,
		types: TYPES[format],
		format,
		schema,
		...(readOther && { readOther }),
		relay: (stream, sent = format) => relay(stream, new TranslatingReader(translator, sent)),
	});

const NO_BYTES = new Uint8Array();

/** The bytes are built only if they are read. */
const pieceOf = (events: readonly StreamEvent[]): EventPiece => ({
	events,
	get bytes() {
		const out = new Output();
		for (const event of events)
			if (event instanceof DeltaEvent) out.addDelta(event, event.template);
			else out.add(textOf(event));
		return out.take() ?? NO_BYTES;
	},
});

/** An event of one `data` line, as most are. The parser takes longer. */
const PLAIN_EVENT = /^(?:event: ([^\r\n]+)\n)?data: ([^\r\n]+)\n\n$/;

/** The fields of a chunk without usage or others. */
const CHUNK_FIELDS = 5;

/** The content of a chunk that has nothing else, apart from what all chunks of the stream have. */
function onlyContentOf(chunk: ChatChunk): string | undefined {
	const [choice, other] = chunk.choices;
	if (!choice || other || Object.keys(chunk).length !== CHUNK_FIELDS) return undefined;
	const { delta, finish_reason, index, logprobs, stop_reason } = choice;
	if (index !== 0 || finish_reason || stop_reason || logprobs || Object.keys(delta).length !== 1)
		return undefined;
	return delta.content ?? undefined;
}

/** Anthropic's keep-alive is an event. */
const PING = "ping";

class TranslatingReader implements EventReader {
	lastWasEvent = false;
	done = false;
	readonly format: EventFormat;
	readonly progress = new StreamProgress();
	readonly #translator: Translator;
	#events: StreamEvent[] = [];
	#failure: AiError | MalformedEvent | undefined;
	/** The last template, with the fields that the chunks have in common. */
	#templated: (Heading & { template: EventTemplate | undefined }) | undefined;
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			// Events that are parted by one line break have the name of the last.
			const list = dataLines(data);
			for (const one of list) this.#readData(list.length > 1 ? undefined : event, one);
		},
		onComment: (comment) => this.#events.push({ comment }),
	});

	constructor(translator: Translator, format: EventFormat) {
		this.#translator = translator;
		this.format = format;
	}

	read(event: Uint8Array, events: StreamEvent[]): AiError | MalformedEvent | undefined {
		this.lastWasEvent = false;
		this.#failure = undefined;
		this.#events = events;
		const template = this.#templated?.template;
		const delta = template && this.#translator.readContent?.(event);
		if (delta) {
			this.lastWasEvent = true;
			this.progress.addText(delta.text);
			events.push(new DeltaEvent(template, delta.text, delta.content));
			return undefined;
		}
		const text = decodeUtf8(event);
		const [plain, name, data] = (this.format === "sse" && PLAIN_EVENT.exec(text)) || [];
		if (plain !== undefined && data !== undefined) this.#readData(name, data);
		else if (this.format === "sse") this.#parser.feed(BLANK_END.test(text) ? text : `${text}\n`);
		else if (text.trim() !== "") this.#readData(undefined, text.trim());
		return this.#failure;
	}

	output({ events }: EventPiece): EventPiece | undefined {
		return events.length > 0 ? pieceOf(events) : undefined;
	}

	end(): EventPiece | undefined {
		this.#events = [];
		if (!this.done) this.#finish();
		return this.done ? pieceOf(this.#events) : undefined;
	}

	#readData(event: string | undefined, data: string): void {
		if (this.#failure || this.done) return;
		this.lastWasEvent = true;
		if (event === PING) this.#events.push({ comment: PING });
		// Proxies add it to streams of other APIs.
		if (isDone(data)) {
			this.#translator.readDone?.();
			this.#finish();
			return;
		}
		try {
			this.#addChunks(this.#translator.translate(event === undefined ? { data } : { event, data }));
		} catch (error) {
			this.#failure = error instanceof AiError ? error : { received: data };
			return;
		}
		if (this.#translator.done) this.#finish();
	}

	#finish(): void {
		const chunks = this.#translator.end();
		if (!chunks) return;
		this.#addChunks(chunks);
		this.#events.push({ data: "[DONE]" });
		this.done = true;
	}

	#addChunks(chunks: ChatChunk[]): void {
		for (const chunk of chunks) {
			const content = onlyContentOf(chunk);
			const delta = content ? this.#templateOf(chunk)?.write(content) : undefined;
			if (delta) this.progress.addText(delta.text);
			else this.progress.addChunk(chunk);
			this.#events.push(delta ?? { data: JSON.stringify(chunk), value: chunk });
		}
	}

	/** The template of a chunk that has only content. `undefined`: its content cannot be replaced. */
	#templateOf(chunk: ChatChunk): EventTemplate | undefined {
		const { id, created, model } = chunk;
		const last = this.#templated;
		if (last?.id === id && last.created === created && last.model === model) return last.template;
		const template = EventTemplate.of(JSON.stringify(chunk), (value) => onlyContentOf(value as ChatChunk));
		this.#templated = { id, created, model, template };
		return template;
	}
}
