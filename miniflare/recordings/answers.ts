/** Records a response while the caller reads it, and builds the response of a recording. */
import { Buffer } from "node:buffer";
import { parseJson } from "../../src/core/json.ts";
import type { Answer, Content, StreamEvent } from "./recording-file.ts";

/** The headers of the product and of Ganglion. Others belong to the connection. */
const KEPT_HEADERS = /^(?:content-type|cf-aig?-.*|x-ganglion-.*)$/;

/** Characters of the JSON of an answer. A file is read whole for each call. */
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
	if (!type.startsWith("text/event-stream") || !response.body)
		return recordWhole(response, type, (content) => record({ status, headers, ...content }));
	const events = new EventReader(elapsed);
	const stream = observed(response.body, {
		chunk: (chunk) => events.push(chunk),
		end: () => record({ status, headers, events: events.end() }),
		left: () => record({ status, headers, events: events.end(), isLeft: true }),
		broken,
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
	const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
	return exactJson(text) ?? { text };
}

/** The value of a text that is exactly its JSON. */
function exactJson(text: string): { json: unknown } | undefined {
	const json = parseJson(text);
	return json !== undefined && JSON.stringify(json) === text ? { json } : undefined;
}

interface Observer {
	chunk(chunk: Uint8Array): void;
	end(): Promise<void>;
	/** The caller does not read the rest. */
	left(): Promise<void>;
	broken(): void;
}

/** Passes a body on. */
function observed(body: ReadableStream<Uint8Array>, observer: Observer): ReadableStream<Uint8Array> {
	const reader = body.getReader();
	// A read that waits when the caller leaves ends as if the body had ended.
	let hasLeft = false;
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			try {
				const { done, value } = await reader.read();
				if (!done) {
					observer.chunk(value);
					controller.enqueue(value);
					return;
				}
			} catch (error) {
				if (hasLeft) return;
				observer.broken();
				controller.error(error);
				return;
			}
			if (hasLeft) return;
			await observer.end();
			controller.close();
		},
		async cancel(reason) {
			hasLeft = true;
			await Promise.all([reader.cancel(reason), observer.left()]);
		},
	});
}

const EVENT_END = "\n\n";
const ANY_EVENT_END = /\n\r?\n/g;
const DATA = "data: ";

class EventReader {
	readonly #elapsed: () => number;
	readonly #decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
	readonly #events: StreamEvent[] = [];
	/** Of an event that has not ended. */
	#pieces: string[] = [];
	/** The last two characters, because the end of an event may be in two chunks. */
	#tail = "";
	#characters = 0;

	constructor(elapsed: () => number) {
		this.#elapsed = elapsed;
	}

	push(chunk: Uint8Array): void {
		// It is too large to be recorded.
		if (this.#characters > LARGEST_ANSWER) return;
		const text = this.#decoder.decode(chunk, { stream: true });
		this.#characters += text.length;
		const searched = this.#tail + text;
		let start = 0;
		for (const { 0: found, index } of searched.matchAll(ANY_EVENT_END)) {
			const end = index + found.length - this.#tail.length;
			if (end <= start) continue;
			this.#add([...this.#pieces, text.slice(start, end)].join(""));
			this.#pieces = [];
			start = end;
		}
		if (start < text.length) this.#pieces.push(text.slice(start));
		this.#tail = searched.slice(-2);
	}

	/** All events. */
	end(): StreamEvent[] {
		const rest = [...this.#pieces, this.#decoder.decode()].join("");
		if (rest !== "") this.#add(rest);
		return this.#events;
	}

	#add(text: string): void {
		const at = Math.round(this.#elapsed());
		const isData = text.startsWith(DATA) && text.endsWith(EVENT_END);
		const exact = isData ? exactJson(text.slice(DATA.length, -EVENT_END.length)) : undefined;
		this.#events.push({ at, ...(exact ?? { text }) });
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

const textOf = (event: StreamEvent): string =>
	"text" in event ? event.text : `${DATA}${JSON.stringify(event.json)}${EVENT_END}`;
