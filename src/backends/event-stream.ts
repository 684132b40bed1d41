/**
 * An upstream's stream of OpenAI chunks, passed on as it came and watched on its way.
 *
 * The bytes are forwarded in whole events; nothing is re-encoded. Each event is parsed once: without it neither a
 * malformed event nor an error inside a stream could be told from an answer. What was parsed goes on with the bytes,
 * for whoever writes it anew.
 *
 * It ends well after `data: [DONE]`, or where the upstream stopped when every choice had its `finish_reason`: then
 * `[DONE]` is added. Any other end is an error. A comment is something to pass on: upstreams keep waiting callers with it.
 */
import { createParser } from "eventsource-parser";
import type { AiError } from "../errors.ts";
import { DONE, type EventPiece, isDone, type StreamEvent } from "../sse.ts";
import type { LastWords } from "../tasks/task.ts";
import type { ChatDelta } from "../tasks/text-generation.ts";
import { SentUsage, usageOf } from "../tasks/usage.ts";
import type { Deadline } from "./deadline.ts";
import { passThrough } from "./pass-through.ts";
import { StreamProgress } from "./progress.ts";
import { type EventReader, type FailureOfCall, type Relayed, relay } from "./relay.ts";
import { type Call, failureOfBody, failureOfCut } from "./upstream-failure.ts";

/**
 * Takes over `source` and `deadline`; see {@link relay}.
 *
 * @param choices how many answers were asked for (`n`).
 * @param lastWords set: its bytes go to the caller as they are (`pass-through.ts`).
 */
export const watchEvents = (
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	choices: number,
	lastWords?: LastWords,
): Promise<Relayed> => {
	const watch = new Watch(call, choices);
	return lastWords
		? passThrough(call, source, deadline, watch, lastWords)
		: relay(call, source, deadline, watch);
};

/** One line, one blank. */
const DATA = "data: ";
const NOTHING: EventPiece = { bytes: new Uint8Array(), events: [] };
const DONE_PIECE: EventPiece = { bytes: new TextEncoder().encode(DONE), events: [{ data: "[DONE]" }] };

/** As far as it is read; `text` is how `/completions` says what a chat has in `delta`. */
interface SentChoice {
	index?: unknown;
	finish_reason?: unknown;
	delta?: ChatDelta | null;
	text?: string | null;
}

/** Passes everything on. */
class Watch implements EventReader {
	readonly format = "sse";
	/** `[DONE]` was seen. */
	done = false;
	sawEvent = false;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #choices: number;
	readonly #finished = new Set<number>();
	readonly #decoder = new TextDecoder();
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			this.sawEvent = true;
			this.#error = this.#read(event, data);
		},
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
		return bytes.length > 0 ? { bytes, events } : undefined;
	}

	end(): EventPiece | undefined {
		if (this.done) return NOTHING;
		return this.#finished.size >= this.#choices ? DONE_PIECE : undefined;
	}

	#read(name: string | undefined, data: string): AiError | undefined {
		if (isDone(data)) {
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
		if (typeof chunk !== "object" || chunk === null) return this.#ifMalformed(this.#call);
		// `object: "error"` is how older vLLM marks the body of an error.
		const { error, object, choices, usage } = chunk as Record<string, unknown>;
		if (name === "error" || object === "error" || (error !== undefined && error !== null))
			return failureOfBody(this.#call, chunk);
		if (Array.isArray(choices)) for (const choice of choices) this.#note(choice);
		// Most events have none, and a schema that is not met is dear.
		if (typeof usage === "object" && usage !== null) {
			const counted = SentUsage.safeParse(usage);
			if (counted.success) this.progress.count(usageOf(counted.data));
		}
		this.#said.push({ data, value: chunk });
		return undefined;
	}

	#note(choice: SentChoice | null): void {
		const said = choice?.delta ?? { content: choice?.text };
		this.progress.pass(said);
		// Some engines send "" for as long as there is none.
		if (!choice?.finish_reason || typeof choice.finish_reason !== "string") return;
		this.#finished.add(typeof choice.index === "number" ? choice.index : 0);
	}
}
