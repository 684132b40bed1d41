/** Records a response while the caller reads it, and builds the response of a recording. */
import { Buffer } from "node:buffer";
import { parseJson } from "../../src/core/json.ts";
import { EventSplitter } from "../../src/streams/event-splitter.ts";
import { ObservedSource } from "../../src/streams/observed-source.ts";
import { PulledStream } from "../../src/streams/pulled-stream.ts";
import { frame, SSE_CONTENT_TYPE } from "../../src/streams/sse.ts";
import type { Answer, Content, StreamEvent } from "./recording-file.ts";

/** Keeps a byte order mark, because the replayed bytes are the recorded ones. */
const DECODER = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** The headers of the product and of Ganglion. Others belong to the connection. */
const KEPT_HEADERS = /^(?:content-type|cf-aig?-.*|x-ganglion-.*)$/;

/** Characters of the JSON of an answer. A file is written whole for each new answer. */
export const LARGEST_ANSWER = 5_000_000;

/** Failures that another try may not have, and those of a missing key. */
export const isRecordable = (status: number): boolean =>
	status < 500 && ![401, 402, 403, 408, 429].includes(status);

interface AnswerSink {
	/** Milliseconds since the call. */
	elapsed(): number;
	/** Gets the answer before the caller has read its end, so that a session that ends then has written it. */
	record(answer: Answer): Promise<void>;
	/** The stream failed before its end. */
	broken(): void;
}

/** The response for the caller. */
export function recordingResponse(
	response: Response,
	{ broken, elapsed, record }: AnswerSink,
): Response | Promise<Response> {
	const { status } = response;
	const headers = Object.fromEntries([...response.headers].filter(([name]) => KEPT_HEADERS.test(name)));
	const type = headers["content-type"] ?? "";
	if (!type.startsWith(SSE_CONTENT_TYPE) || !response.body)
		return recordWhole(response, type, (content) => record({ status, headers, ...content }));
	const events = new EventReader(elapsed);
	let recording: Promise<void> | undefined;
	const source = new ObservedSource(PulledStream.sourceOf(response.body), {
		pass(chunk) {
			events.push(chunk);
			return chunk;
		},
		end({ kind }) {
			if (kind === "failed") return broken();
			const isLeft = kind === "cancelled" && { isLeft: true as const };
			recording = record({ status, headers, events: events.end(), ...isLeft });
		},
	});
	const stream = new PulledStream({
		async pull() {
			const chunk = await source.pull();
			if (!chunk) await recording;
			return chunk;
		},
		async cancel(reason) {
			await source.cancel(reason);
			await recording;
		},
	});
	return new Response(stream, response);
}

async function recordWhole(
	response: Response,
	type: string,
	record: (content: Content) => Promise<void>,
): Promise<Response> {
	const bytes = new Uint8Array(await response.arrayBuffer());
	await record(bodyContent(bytes, type));
	return new Response(bytes.length === 0 ? null : bytes, response);
}

function bodyContent(bytes: Uint8Array, type: string): Content {
	if (!/^(?:application\/json|text\/)/i.test(type)) return { base64: Buffer.from(bytes).toString("base64") };
	const text = DECODER.decode(bytes);
	const json = parseJson(text);
	return json !== undefined && JSON.stringify(json) === text ? { json } : { text };
}

class EventReader {
	readonly #elapsed: () => number;
	readonly #splitter = new EventSplitter();
	readonly #events: StreamEvent[] = [];
	#bytes = 0;

	constructor(elapsed: () => number) {
		this.#elapsed = elapsed;
	}

	push(chunk: Uint8Array): void {
		// It is too large to be recorded.
		if (this.#bytes > LARGEST_ANSWER) return;
		this.#bytes += chunk.length;
		const { bytes, ends } = this.#splitter.push(chunk);
		for (const [at, end] of ends.entries()) this.#add(bytes.subarray(ends[at - 1] ?? 0, end));
	}

	/** All events. */
	end(): StreamEvent[] {
		const unfinished = this.#splitter.takeRemainder();
		if (unfinished.length > 0) this.#add(unfinished);
		return this.#events;
	}

	#add(event: Uint8Array): void {
		const at = Math.round(this.#elapsed());
		const text = DECODER.decode(event);
		const json = parseJson(text.replace(/^data: /, ""));
		this.#events.push({ at, ...(json !== undefined && frame(json) === text ? { json } : { text }) });
	}
}

export interface Pace {
	/** 1: the recorded times between events, 2: half of them. Absent: without waiting. */
	speed?: number | undefined;
	wait(milliseconds: number): Promise<void>;
}

export function replay({ headers, isLeft, status, ...content }: Answer, pace: Pace): Response {
	const body = "events" in content ? replayedStream(content.events, isLeft, pace) : bodyOf(content);
	return new Response(body, { headers, status });
}

function bodyOf(content: Exclude<Content, { events: unknown }>): string | Uint8Array<ArrayBuffer> | null {
	if ("json" in content) return JSON.stringify(content.json);
	if ("text" in content) return content.text;
	return content.base64 === "" ? null : new Uint8Array(Buffer.from(content.base64, "base64"));
}

function replayedStream(
	events: readonly StreamEvent[],
	isLeft: true | undefined,
	{ speed, wait }: Pace,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	let next = 0;
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			const event = events[next++];
			if (!event) {
				if (isLeft) controller.error(new Error("The recorded caller left the stream here: record it again"));
				else controller.close();
				return;
			}
			if (speed !== undefined) await wait((event.at - (events[next - 2]?.at ?? 0)) / speed);
			controller.enqueue(encoder.encode(textOf(event)));
		},
	});
}

const textOf = (event: StreamEvent): string => ("text" in event ? event.text : frame(event.json));
