/**
 * Forwards OpenAI chunks.
 *
 * The bytes of complete events are forwarded; nothing is re-encoded. Each event is parsed once, to detect malformed
 * events and errors inside the stream. The parsed events stay with the bytes for stages that rewrite the stream.
 *
 * The stream is complete after `data: [DONE]`, or when the upstream ends after every choice has a `finish_reason`: then
 * `[DONE]` is added. Any other end is an error, and so is a `[DONE]` before any choice. Comments are forwarded: upstreams
 * send them as keep-alives.
 */
import { createParser } from "eventsource-parser";
import type { AiError } from "../../core/errors.ts";
import { type Usage, usageOf } from "../../core/usage.ts";
import { EventTemplate } from "../../streams/delta-event.ts";
import { DONE, type EventPiece, isDone, type StreamEvent, textOf } from "../../streams/sse.ts";
import type { StreamEndFormatter } from "../../tasks/task.ts";
import { addChoice, countsOneChoice } from "../openai/choices.ts";
import { passThrough } from "./pass-through.ts";
import { type SentDelta, StreamProgress } from "./progress.ts";
import {
	type EventReader,
	type FailureOfCall,
	type RelayedStream,
	relay,
	type UpstreamStream,
} from "./relay.ts";
import { type Call, failureOfBody, failureOfInterruption, failureOfShape } from "./upstream-failure.ts";

export interface ChunkOptions {
	/** The requested number of answers (`n`). */
	choices: number;
	/** Set: the bytes go to the caller unchanged (`pass-through.ts`). */
	streamEnd?: StreamEndFormatter | undefined;
}

/** Takes over the stream; see {@link relay}. */
export function relayChunks(
	stream: UpstreamStream,
	{ choices, streamEnd }: ChunkOptions,
): Promise<RelayedStream> {
	const eventReader = new ChunkReader(stream.call, choices);
	return streamEnd ? passThrough(stream, eventReader, streamEnd) : relay(stream, eventReader);
}

const DATA = "data: ";
/** Between two events of one line. */
const SEPARATOR = `\n\n${DATA}`;
const NO_OUTPUT: EventPiece = { bytes: new Uint8Array(), events: [] };
const DONE_PIECE: EventPiece = { bytes: new TextEncoder().encode(DONE), events: [{ data: "[DONE]" }] };

/** The fields that are read. */
interface SentChunk {
	error?: unknown;
	object?: unknown;
	choices?: unknown;
	usage?: unknown;
	timings?: unknown;
}

const isChunk = (sent: unknown): sent is SentChunk => typeof sent === "object" && sent !== null;

/** Older vLLM marks the body of an error with `object: "error"`. */
const isError = ({ error, object }: SentChunk): boolean =>
	object === "error" || (error !== undefined && error !== null);

/**
 * Parses the data of `count` events in one call. `undefined`: not every event is one line of JSON. (A stream whose
 * events are JSON only when joined by commas would pass; no engine sends one.)
 */
function parseTogether(text: string, count: number): SentChunk[] | undefined {
	if (count === 0) return text === "" ? [] : undefined;
	if (!text.startsWith(DATA) || !text.endsWith("\n\n")) return undefined;
	const list = `[${text.slice(DATA.length, -2).replaceAll(SEPARATOR, ",")}]`;
	// A remaining line break is white space in JSON, but separates lines of an event.
	if (list.includes("\n") || list.includes("\r")) return undefined;
	try {
		const chunks = JSON.parse(list) as unknown[];
		return chunks.length === count && chunks.every(isChunk) ? chunks : undefined;
	} catch {
		return undefined;
	}
}

/** The fields that are read. `text`: `/completions` has it in place of `delta`. */
interface SentChoice {
	index?: unknown;
	finish_reason?: unknown;
	delta?: SentDelta | null;
	text?: unknown;
}

/** Fields of a delta that is one content. */
const CONTENT_FIELDS: readonly string[] = ["content", "role"];
/** Templates that are made before one of them fits an event. */
const MAX_TEMPLATES = 4;

/** The content of a chunk that has nothing else to read. `undefined` for any other chunk. */
function onlyContentOf(chunk: unknown): unknown {
	if (!isChunk(chunk) || !isAbsent(chunk.usage) || !isAbsent(chunk.timings) || isError(chunk))
		return undefined;
	const [choice, ...others]: (SentChoice | null)[] = Array.isArray(chunk.choices) ? chunk.choices : [];
	const delta = choice?.delta;
	if (!delta || choice.index !== 0 || choice.finish_reason || others.length > 0) return undefined;
	const isPlain = Object.entries(delta).every(
		([name, value]) => CONTENT_FIELDS.includes(name) || isAbsent(value),
	);
	return isPlain ? delta.content : undefined;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Its output is the input, except for usage that counts one of several choices. */
export class ChunkReader implements EventReader {
	readonly format = "sse";
	/** `[DONE]` was read. */
	done = false;
	lastWasEvent = false;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #choices: number;
	readonly #finished = new Set<number>();
	#hasChoice = false;
	/** The usage of the choices that have ended, if the engine counts each choice separately. */
	#choicesUsage: Usage | undefined;
	/** `#events` differs from the received bytes. */
	#isChanged = false;
	readonly #decoder = new TextDecoder();
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			this.lastWasEvent = true;
			this.#error ??= this.#readData(event, data);
		},
		onComment: (comment) => this.#events.push({ comment }),
	});
	#error: AiError | undefined;
	#ifMalformed: FailureOfCall = failureOfInterruption;
	/** The form of the last chunk that has only content. */
	#template: EventTemplate | undefined;
	/** Templates since one fitted. */
	#unfit = 0;
	#events: StreamEvent[] = [];

	constructor(call: Call, choices: number) {
		this.#call = call;
		this.#choices = choices;
	}

	read(event: Uint8Array, ifMalformed: FailureOfCall, events: StreamEvent[]): AiError | undefined {
		this.lastWasEvent = false;
		this.#error = undefined;
		this.#ifMalformed = ifMalformed;
		this.#events = events;
		const delta = this.#template?.read(event);
		if (delta) {
			this.lastWasEvent = true;
			this.#unfit = 0;
			this.progress.addText(delta.text);
			events.push(delta);
			return undefined;
		}
		const text = this.#decoder.decode(event);
		// Most events are one `data` line. The parser handles all others.
		if (text.startsWith(DATA) && text.indexOf("\n") === text.length - 2 && !text.includes("\r")) {
			this.lastWasEvent = true;
			this.#error = this.#readData(undefined, text.slice(DATA.length, -2));
		} else this.#parser.feed(text);
		return this.#error;
	}

	output(bytes: Uint8Array, events: readonly StreamEvent[]): EventPiece | undefined {
		if (bytes.length === 0) return undefined;
		if (!this.#isChanged) return { bytes, events };
		this.#isChanged = false;
		return { bytes: new TextEncoder().encode(events.map(textOf).join("")), events };
	}

	end(): EventPiece | undefined {
		if (this.done) return NO_OUTPUT;
		return this.#finished.size >= this.#choices ? DONE_PIECE : undefined;
	}

	readTogether(bytes: Uint8Array, count: number): boolean {
		const text = this.#decoder.decode(bytes);
		const isLast = text.endsWith(DONE);
		if (isLast && !this.#hasChoice) return false;
		const chunks = isLast
			? parseTogether(text.slice(0, -DONE.length), count - 1)
			: parseTogether(text, count);
		// An error is reported at its position.
		if (!chunks || chunks.some(isError)) return false;
		for (const chunk of chunks) this.#readChunk(chunk);
		this.done = isLast;
		return true;
	}

	#readData(name: string | undefined, data: string): AiError | undefined {
		if (isDone(data)) {
			if (!this.#hasChoice) return failureOfShape(this.#call, "an answer: it ended before it began");
			this.done = true;
			this.#events.push({ data });
			return undefined;
		}
		let chunk: unknown;
		try {
			chunk = JSON.parse(data);
		} catch {
			return this.#ifMalformed(this.#call);
		}
		if (!isChunk(chunk)) return this.#ifMalformed(this.#call);
		if (name === "error" || isError(chunk)) return failureOfBody(this.#call, chunk);
		const usage = this.#readChunk(chunk);
		if (usage) this.#isChanged = true;
		const value = usage ? { ...chunk, usage } : chunk;
		if (this.#unfit < MAX_TEMPLATES && onlyContentOf(chunk)) {
			this.#unfit++;
			this.#template = EventTemplate.of(data, onlyContentOf);
		}
		this.#events.push({ data: usage ? JSON.stringify(value) : data, value });
		return undefined;
	}

	/** Returns the usage that replaces the chunk's, if they differ. */
	#readChunk(chunk: SentChunk): Usage | undefined {
		const { choices } = chunk;
		if (Array.isArray(choices))
			for (const choice of choices) {
				this.#hasChoice = true;
				this.#readChoice(choice);
			}
		const usage = usageOf(chunk.usage);
		if (this.#choices < 2 || !countsOneChoice(chunk, usage)) {
			this.progress.addUsage(usage);
			return undefined;
		}
		this.#choicesUsage = addChoice(this.#choicesUsage, usage);
		this.progress.addUsage(this.#choicesUsage);
		return this.#choicesUsage;
	}

	#readChoice(choice: SentChoice | null): void {
		this.progress.addDelta(choice?.delta ?? { content: choice?.text });
		// Some engines send "" until the choice has finished.
		if (!choice?.finish_reason || typeof choice.finish_reason !== "string") return;
		this.#finished.add(typeof choice.index === "number" ? choice.index : 0);
	}
}
