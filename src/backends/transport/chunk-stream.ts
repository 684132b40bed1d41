/**
 * Forwards the bytes of OpenAI chunks. Each event is parsed once, and stays with its bytes for the stages that rewrite the stream.
 *
 * The stream is complete after `data: [DONE]`, or when the upstream ends after every choice has a `finish_reason`: then
 * `[DONE]` is added. Any other end is an error, and so is a `[DONE]` before any choice. Comments are forwarded.
 */
import type { AiError } from "../../core/errors.ts";
import { isRecord, parseJson, parseLooseJson } from "../../core/json.ts";
import { type Usage, usageOf } from "../../core/usage.ts";
import { withThoughts } from "../../core/usage-formats.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { EventTemplate } from "../../streams/delta-event.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import { DONE, type EventPiece, isDone, type StreamEvent, textOf } from "../../streams/sse.ts";
import type { StreamEndFormatter } from "../../tasks/task.ts";
import { addChoice, countsOneChoice } from "../openai/choices.ts";
import { ChatEventReader } from "../openai/reply/chat-events.ts";
import { failureOfEvent } from "../openai/reply/chat-reply.ts";
import type { ToolCallContext } from "../openai/reply/sent-calls.ts";
import {
	DATA,
	dataOf,
	isKeepAlive,
	onlyContentOf,
	parseTogether,
	type SentChunk,
	type SentChunkChoice,
} from "./chunk-text.ts";
import { isErrorBody } from "./error-body.ts";
import {
	type EventReader,
	type MalformedEvent,
	NO_EVENTS,
	type RelayedStream,
	type UpstreamStream,
} from "./event-scanner.ts";
import { EventTextReader } from "./event-text.ts";
import { passThrough } from "./pass-through.ts";
import { StreamProgress } from "./progress.ts";
import { relay } from "./relay.ts";
import { type Call, failureOfBody, failureOfShape } from "./upstream-failure.ts";

export interface ChunkOptions {
	/** The requested number of answers (`n`). */
	choices: number;
	/** For chats: the events are repaired (`openai/reply/`). Absent: only their form is checked. */
	chat?: () => ToolCallContext;
	/** Of a stream whose media type is not that of server-sent events. It never passes unchanged. */
	format?: EventFormat | undefined;
	/** Set: the bytes go to the caller unchanged (`pass-through.ts`). */
	streamEnd?: StreamEndFormatter | undefined;
	/** Returns what replaces a chunk. `undefined`: nothing does. Only without `streamEnd`. */
	revise?: ReviseChunk | undefined;
}

export type ReviseChunk = (chunk: object) => object | undefined;

/** Takes over the stream; see {@link relay}. */
export function relayChunks(stream: UpstreamStream, options: ChunkOptions): Promise<RelayedStream> {
	const { format, streamEnd } = options;
	const reader = new ChunkReader(stream.call, options);
	if (!streamEnd || format) return relay(stream, reader);
	return passThrough(stream, reader, streamEnd, (source) =>
		relay(source, new ChunkReader(stream.call, options)),
	);
}

/** OpenAI's mark of the end. */
const END = "[DONE]";
const DONE_PIECE: EventPiece = { bytes: new TextEncoder().encode(DONE), events: [{ data: END }] };

/** Templates that are made before one of them fits an event. */
const MAX_TEMPLATES = 4;

/** Its output is the input, except for usage that counts one of several choices, or no thoughts. */
export class ChunkReader implements EventReader {
	readonly format: EventFormat;
	/** `[DONE]` was read. */
	done = false;
	lastWasEvent = false;
	isOdd = false;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #choices: number;
	readonly #chat: ChatEventReader | undefined;
	readonly #finished = new Set<number>();
	#hasChoice = false;
	/** The usage of the choices that have ended, if the engine counts each choice separately. */
	#choicesUsage: Usage | undefined;
	/** `#events` differs from the received bytes. */
	#isChanged = false;
	#text: EventTextReader | undefined;
	readonly #revise: ReviseChunk | undefined;
	#failure: AiError | MalformedEvent | undefined;
	/** The form of the last chunk that has only content. */
	#template: EventTemplate | undefined;
	/** Templates since one fitted. */
	#unfit = 0;
	#events: StreamEvent[] = [];

	constructor(call: Call, { choices, chat, format = "sse", revise }: ChunkOptions) {
		this.format = format;
		this.#call = call;
		this.#revise = revise;
		this.#choices = choices;
		this.#chat = chat && new ChatEventReader(chat, choices);
	}

	read(event: Uint8Array, events: StreamEvent[]): AiError | MalformedEvent | undefined {
		this.lastWasEvent = false;
		this.#failure = undefined;
		this.#events = events;
		const delta = this.#template?.read(event);
		if (delta) {
			this.lastWasEvent = true;
			this.#unfit = 0;
			this.progress.addText(delta.text);
			events.push(delta);
			return undefined;
		}
		const text = decodeUtf8(event);
		// Most events are one `data` line. The parser handles all others.
		if (text.startsWith(DATA) && text.indexOf("\n") === text.length - 2 && !text.includes("\r")) {
			this.lastWasEvent = true;
			const data = dataOf(text);
			if (data.length < text.length - DATA.length - 2) this.#changeForm();
			this.#failure = this.#readData(undefined, data);
		} else this.#textReader().read(text);
		return this.#failure;
	}

	#textReader(): EventTextReader {
		this.#text ??= new EventTextReader(this.format, {
			onData: (name, data, isOdd) => {
				if (this.#failure || this.done) return;
				const wasEvent = this.lastWasEvent;
				this.lastWasEvent = true;
				if (isOdd) this.#changeForm();
				this.#failure = this.#readData(name, data);
				this.lastWasEvent ||= wasEvent;
			},
			onComment: (comment) => this.#events.push({ comment }),
			onError: (error) => {
				this.#failure ??= failureOfBody(this.#call, { error });
			},
		});
		return this.#text;
	}

	output(piece: EventPiece): EventPiece | undefined {
		const { bytes, events } = piece;
		if (bytes.length === 0) return undefined;
		if (!this.#isChanged) return piece;
		this.#isChanged = false;
		if (events.length === 0) return undefined;
		return { bytes: new TextEncoder().encode(events.map(textOf).join("")), events };
	}

	end(): EventPiece | undefined {
		if (this.done) return NO_EVENTS;
		return this.#isFinished ? DONE_PIECE : undefined;
	}

	/** Every requested choice has ended. */
	get #isFinished(): boolean {
		return this.#finished.size >= this.#choices;
	}

	readTogether(bytes: Uint8Array, count: number): boolean {
		const text = decodeUtf8(bytes);
		const isLast = text.endsWith(DONE);
		if (isLast && !this.#hasChoice) return false;
		const chunks = isLast
			? parseTogether(text.slice(0, -DONE.length), count - 1)
			: parseTogether(text, count);
		// An error is reported at its position.
		if (!chunks || chunks.some(isErrorBody)) return false;
		for (const chunk of chunks) {
			const failure = this.#readEvent(chunk);
			if (failure) throw failure;
		}
		const failure = isLast ? this.#end() : undefined;
		if (failure) throw failure;
		return true;
	}

	#readData(name: string | undefined, data: string): AiError | MalformedEvent | undefined {
		if (isDone(data)) {
			if (!this.#hasChoice) return failureOfShape(this.#call, "an answer: it ended before it began", data);
			if (data !== END) this.#changeForm();
			const failure = this.#end();
			this.#events.push({ data: END });
			return failure;
		}
		const isAlive = isKeepAlive(name, data);
		const strict = isAlive ? undefined : parseJson(data);
		const chunk = isAlive ? undefined : (strict ?? parseLooseJson(data));
		// A text after the end is a mark of the end that is not OpenAI's.
		if (chunk === undefined && (isAlive || (name !== "error" && this.#isFinished))) {
			this.isOdd = true;
			return this.#drop();
		}
		if (name === "error" || isErrorBody(chunk)) return failureOfBody(this.#call, chunk ?? data);
		if (Array.isArray(chunk) && chunk.length > 0 && chunk.every(isRecord)) {
			this.#changeForm();
			for (const one of chunk) {
				const failure = this.#readEvent(one, JSON.stringify(one));
				if (failure) return failure;
			}
			return undefined;
		}
		if (!isRecord(chunk)) return { received: data };
		if (strict === undefined) this.#changeForm();
		return this.#readEvent(chunk, strict === undefined ? JSON.stringify(chunk) : data);
	}

	/** The upstream has sent its end: finishes the choices that it left open. */
	#end(): AiError | undefined {
		this.done = true;
		this.progress.toolCalls = this.#chat?.toolCalls ?? 0;
		const last = this.#chat?.end();
		if (!last || last.kind === "none") return undefined;
		if (last.kind !== "chunk") return failureOfEvent(this.#call, last);
		this.#change();
		this.#readChunk(last.chunk, last.usage);
		const value = { ...last.chunk, ...this.#revise?.(last.chunk) };
		this.#events.push({ data: JSON.stringify(value), value });
		return undefined;
	}

	/** The event is no part of the answer. */
	#drop(): undefined {
		this.lastWasEvent = false;
		this.#change();
	}

	#changeForm(): void {
		this.isOdd = true;
		this.#change();
	}

	#change(): void {
		this.#isChanged = true;
		this.progress.isRepaired = true;
	}

	/** Reads an event that is no error. `data`: its text, for callers that need the parsed events. */
	#readEvent(sent: SentChunk, data?: string): AiError | undefined {
		const read = this.#chat?.read(sent) ?? {
			kind: "chunk" as const,
			chunk: sent,
			usage: usageOf(sent.usage),
		};
		if (read.kind === "none") return this.#drop();
		if (read.kind !== "chunk") return failureOfEvent(this.#call, read);
		const { chunk } = read;
		const usage = this.#readChunk(chunk, read.usage);
		const revised = this.#revise?.(chunk);
		const isChanged = chunk !== sent || revised !== undefined || usage !== undefined;
		if (isChanged) this.#change();
		if (data === undefined) return undefined;
		const value = revised || usage ? { ...chunk, ...revised, ...(usage && { usage }) } : chunk;
		if (!isChanged && this.#unfit < MAX_TEMPLATES && onlyContentOf(chunk)) {
			this.#unfit++;
			this.#template = EventTemplate.of(data, onlyContentOf);
		}
		this.#events.push({ data: isChanged ? JSON.stringify(value) : data, value });
		return undefined;
	}

	/** Returns the usage that replaces the engine's, if they differ. */
	#readChunk(chunk: SentChunk, sent: Usage | undefined): Usage | undefined {
		if (Array.isArray(chunk.choices))
			for (const choice of chunk.choices) {
				this.#hasChoice = true;
				this.#readChoice(choice);
			}
		let usage = sent && withThoughts(sent, chunk.model);
		if (this.#choices > 1 && countsOneChoice(chunk, usage)) {
			this.#choicesUsage = addChoice(this.#choicesUsage, usage);
			usage = this.#choicesUsage;
		}
		this.progress.addUsage(usage);
		return usage === sent ? undefined : usage;
	}

	#readChoice(choice: SentChunkChoice | null): void {
		this.progress.addDelta(choice?.delta ?? { content: choice?.text });
		// Some engines send "" until the choice has finished.
		if (!choice?.finish_reason || typeof choice.finish_reason !== "string") return;
		this.#finished.add(typeof choice.index === "number" ? choice.index : 0);
	}
}
