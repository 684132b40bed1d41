/**
 * Requests an output in several versions: the upstream's events with unfinished ones, and the complete one at the end (see `Answer`).
 * Limits, failures, the first event and cancellation are those of all streams (`event-scanner.ts`), except that the upstream may be silent while
 * it works on a version: only the limit of the complete call applies.
 */
import { createParser } from "eventsource-parser";
import type { z } from "zod";
import type { AiError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { type EventPiece, EventStream, isDone, type StreamEvent } from "../../streams/sse.ts";
import type { StreamedOutput } from "../../tasks/task.ts";
import { isErrorBody } from "./error-body.ts";
import type { EventReader, MalformedEvent } from "./event-scanner.ts";
import { postForStream, type RequestBody } from "./http.ts";
import { StreamProgress } from "./progress.ts";
import { relay } from "./relay.ts";
import { type Call, failureOfBody } from "./upstream-failure.ts";

interface OutputFormat<Output> {
	/** What the stream is, for failures. */
	expected: string;
	/** Reads the JSON of an event. `undefined`: it has no output. Throws if the event is malformed. */
	read(event: unknown): StreamedOutput<Output> | undefined;
}

/**
 * `schema`: of a reply that is no stream, although one was requested. The reader owns the outputs. Cancelling them aborts the upstream's
 * fetch, and so does the caller's signal.
 */
export async function postForOutputs<Schema extends z.ZodType, Output>(
	sent: Call,
	path: string,
	body: RequestBody,
	{ schema, ...format }: { schema: Schema } & OutputFormat<Output>,
): Promise<
	| { kind: "outputs"; outputs: ReadableStream<StreamedOutput<Output>> }
	| { kind: "value"; value: z.output<Schema> }
> {
	const { timeouts } = sent.target;
	const { totalMs } = timeouts;
	const call = {
		...sent,
		target: { ...sent.target, timeouts: { headerMs: totalMs, idleMs: totalMs, totalMs } },
	};
	const reader = new OutputReader(call, format);
	const reply = await postForStream(call, {
		path,
		body,
		accept: "text/event-stream, application/json",
		types: ["text/event-stream"],
		schema,
		relay: (stream) => relay(stream, reader),
	});
	if (reply.kind === "value") return reply;
	const events = EventStream.eventsOf(reply.events);
	return {
		kind: "outputs",
		outputs: new PulledStream({
			async pull() {
				while (reader.outputs.length === 0) if (!(await events.pull())) return undefined;
				return reader.outputs.shift();
			},
			cancel: (reason) => events.cancel(reason),
		}),
	};
}

const NO_BYTES = new Uint8Array();

class OutputReader<Output> implements EventReader {
	readonly format = "sse";
	readonly progress = new StreamProgress();
	/** Versions that have been read, and not sent yet. */
	readonly outputs: StreamedOutput<Output>[] = [];
	lastWasEvent = false;
	done = false;
	readonly #call: Call;
	readonly #format: OutputFormat<Output>;
	readonly #parser = createParser({
		onEvent: ({ event, data }) => this.#readData(event, data),
	});
	#events: StreamEvent[] = [];
	#failure: AiError | MalformedEvent | undefined;

	constructor(call: Call, format: OutputFormat<Output>) {
		this.#call = call;
		this.#format = format;
	}

	read(event: Uint8Array, events: StreamEvent[]): AiError | MalformedEvent | undefined {
		this.lastWasEvent = false;
		this.#events = events;
		this.#failure = undefined;
		this.#parser.feed(decodeUtf8(event));
		return this.#failure;
	}

	output({ events }: EventPiece) {
		return events.length > 0 ? { bytes: NO_BYTES, events } : undefined;
	}

	end() {
		return this.done ? { bytes: NO_BYTES, events: [] } : undefined;
	}

	#readData(name: string | undefined, data: string): void {
		if (isDone(data) || this.done) return;
		this.lastWasEvent = true;
		const value = parseJson(data);
		if (name === "error" || isErrorBody(value)) {
			this.#failure = failureOfBody(this.#call, value ?? data);
			return;
		}
		try {
			const output = this.#format.read(value);
			if (!output) return;
			this.outputs.push(output);
			// A marker for the relay. The outputs are taken from the list.
			this.#events.push({ data: "" });
			this.done = output.isComplete;
		} catch {
			this.#failure = { expected: this.#format.expected };
		}
	}
}
