/**
 * An upstream's stream of OpenAI chunks, passed on as it came and watched on its way.
 *
 * The bytes are forwarded in whole events; nothing is re-encoded. Each event is parsed once: without it neither a
 * malformed event nor an error inside a stream could be told from an answer. What was parsed goes on with the bytes,
 * for whoever writes it anew.
 *
 * It ends well after `data: [DONE]`, or where the upstream stopped when every choice had its `finish_reason`: then
 * `[DONE]` is added. Any other end is an error, and so is a `[DONE]` before any choice. A comment is passed on: upstreams
 * keep waiting callers with it.
 */
import { createParser } from "eventsource-parser";
import type { AiError } from "../../core/errors.ts";
import { type Usage, usageOf } from "../../core/usage.ts";
import { DONE, type EventPiece, isDone, type StreamEvent, textOf } from "../../streams/sse.ts";
import type { StreamErrorFormatter } from "../../tasks/task.ts";
import { addChoice, countsOneChoice } from "../openai/choices.ts";
import type { Deadline } from "./deadline.ts";
import { passThrough } from "./pass-through.ts";
import { type SentDelta, StreamProgress } from "./progress.ts";
import { type EventReader, type FailureOfCall, type Relayed, relay } from "./relay.ts";
import { type Call, failureOfBody, failureOfCut, failureOfShape } from "./upstream-failure.ts";

/**
 * Takes over `source` and `deadline`; see {@link relay}.
 *
 * @param choices how many answers were asked for (`n`).
 * @param formatStreamError set: its bytes go to the caller as they are (`pass-through.ts`).
 */
export const watchEvents = (
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	choices: number,
	formatStreamError?: StreamErrorFormatter,
): Promise<Relayed> => {
	const watch = new Watch(call, choices);
	return formatStreamError
		? passThrough(call, source, deadline, watch, formatStreamError)
		: relay(call, source, deadline, watch);
};

/** One line, one blank. */
const DATA = "data: ";
const BETWEEN = `\n\n${DATA}`;
const NOTHING: EventPiece = { bytes: new Uint8Array(), events: [] };
const DONE_PIECE: EventPiece = { bytes: new TextEncoder().encode(DONE), events: [{ data: "[DONE]" }] };

/** As far as it is read. */
interface SentChunk {
	error?: unknown;
	object?: unknown;
	choices?: unknown;
	usage?: unknown;
	timings?: unknown;
}

const isChunk = (sent: unknown): sent is SentChunk => typeof sent === "object" && sent !== null;

/** `object: "error"` is how older vLLM marks the body of an error. */
const isError = ({ error, object }: SentChunk): boolean =>
	object === "error" || (error !== undefined && error !== null);

/**
 * What so many events say, all parsed at once. `undefined`: they are not all of one line, or not all JSON. (An engine
 * could cut JSON at its commas so that as many events as before were JSON only together; none does.)
 */
function parseTogether(text: string, count: number): SentChunk[] | undefined {
	if (count === 0) return text === "" ? [] : undefined;
	if (!text.startsWith(DATA) || !text.endsWith("\n\n")) return undefined;
	const list = `[${text.slice(DATA.length, -2).replaceAll(BETWEEN, ",")}]`;
	// A line break that is left is white space to JSON, but not to events.
	if (list.includes("\n") || list.includes("\r")) return undefined;
	try {
		const chunks = JSON.parse(list) as unknown[];
		return chunks.length === count && chunks.every(isChunk) ? chunks : undefined;
	} catch {
		return undefined;
	}
}

/** As far as it is read; `text` is how `/completions` says what a chat has in `delta`. */
interface SentChoice {
	index?: unknown;
	finish_reason?: unknown;
	delta?: SentDelta | null;
	text?: unknown;
}

/** Passes everything on. */
export class Watch implements EventReader {
	readonly format = "sse";
	/** `[DONE]` was seen. */
	done = false;
	sawEvent = false;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #choices: number;
	readonly #finished = new Set<number>();
	#sawChoice = false;
	/** Of the choices that have ended, where the engine counts each for itself. */
	#choicesUsage: Usage | undefined;
	/** What `said` has is not what came. */
	#changed = false;
	readonly #decoder = new TextDecoder();
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			this.sawEvent = true;
			this.#error ??= this.#read(event, data);
		},
		onComment: (comment) => this.#said.push({ comment }),
	});
	#error: AiError | undefined;
	#ifMalformed: FailureOfCall = failureOfCut;
	#said: StreamEvent[] = [];

	constructor(call: Call, choices: number) {
		this.#call = call;
		this.#choices = choices;
	}

	see(event: Uint8Array, ifMalformed: FailureOfCall, said: StreamEvent[]): AiError | undefined {
		this.sawEvent = false;
		this.#error = undefined;
		this.#ifMalformed = ifMalformed;
		this.#said = said;
		const text = this.#decoder.decode(event);
		// As nearly every event is; the parser knows all that it could be.
		if (text.startsWith(DATA) && text.indexOf("\n") === text.length - 2 && !text.includes("\r")) {
			this.sawEvent = true;
			this.#error = this.#read(undefined, text.slice(DATA.length, -2));
		} else this.#parser.feed(text);
		return this.#error;
	}

	pass(bytes: Uint8Array, events: readonly StreamEvent[]): EventPiece | undefined {
		if (bytes.length === 0) return undefined;
		if (!this.#changed) return { bytes, events };
		this.#changed = false;
		return { bytes: new TextEncoder().encode(events.map(textOf).join("")), events };
	}

	end(): EventPiece | undefined {
		if (this.done) return NOTHING;
		return this.#finished.size >= this.#choices ? DONE_PIECE : undefined;
	}

	seeTogether(events: Uint8Array, count: number): boolean {
		const text = this.#decoder.decode(events);
		const isLast = text.endsWith(DONE);
		if (isLast && !this.#sawChoice) return false;
		const chunks = isLast
			? parseTogether(text.slice(0, -DONE.length), count - 1)
			: parseTogether(text, count);
		// An error is to be told where it stands.
		if (!chunks || chunks.some(isError)) return false;
		for (const chunk of chunks) this.#readChunk(chunk);
		this.done = isLast;
		return true;
	}

	#read(name: string | undefined, data: string): AiError | undefined {
		if (isDone(data)) {
			if (!this.#sawChoice) return failureOfShape(this.#call, "an answer: it ended before it began");
			this.done = true;
			this.#said.push({ data });
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
		if (usage) this.#changed = true;
		const value = usage ? { ...chunk, usage } : chunk;
		this.#said.push({ data: usage ? JSON.stringify(value) : data, value });
		return undefined;
	}

	/** Gives the usage that is to stand in its place, where that is another. */
	#readChunk(chunk: SentChunk): Usage | undefined {
		const { choices } = chunk;
		this.#sawChoice ||= Array.isArray(choices)
			? choices.length > 0
			: choices !== null && choices !== undefined;
		if (Array.isArray(choices)) for (const choice of choices) this.#note(choice);
		const usage = usageOf(chunk.usage);
		if (this.#choices < 2 || !countsOneChoice(chunk, usage)) {
			this.progress.count(usage);
			return undefined;
		}
		this.#choicesUsage = addChoice(this.#choicesUsage, usage);
		this.progress.count(this.#choicesUsage);
		return this.#choicesUsage;
	}

	#note(choice: SentChoice | null): void {
		const said = choice?.delta ?? { content: choice?.text };
		this.progress.pass(said);
		// Some engines send "" for as long as there is none.
		if (!choice?.finish_reason || typeof choice.finish_reason !== "string") return;
		this.#finished.add(typeof choice.index === "number" ? choice.index : 0);
	}
}
