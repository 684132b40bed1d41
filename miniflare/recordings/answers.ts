/** Records a response while the caller reads it, and builds the response of a recording. */
import { Buffer } from "node:buffer";
import { scheduler } from "node:timers/promises";
import { parseJson } from "../../src/core/json.ts";
import type { Answer, Content, StreamEvent } from "./recording-file.ts";

/** The headers that a caller may use. Others differ in each run, or belong to the connection. */
const KEPT_HEADERS =
	/^(?:content-type|cf-ai-neurons|cf-ai-req-id|cf-aig-(?:cache-status|event-id|log-id|model|provider|step)|x-ganglion-.*)$/;

/** Failures that another try may not have, and those of a missing key. */
export const isRecordable = (status: number): boolean =>
	status < 500 && ![401, 403, 408, 429].includes(status);

/**
 * The response for the caller. `record` gets the answer before the caller has read its end, so that a session that ends then has
 * written it. `elapsed`: milliseconds since the call.
 */
export function recordingResponse(
	response: Response,
	elapsed: () => number,
	record: (answer: Answer) => Promise<void>,
): Response | Promise<Response> {
	const { status } = response;
	const headers = Object.fromEntries([...response.headers].filter(([name]) => KEPT_HEADERS.test(name)));
	const type = headers["content-type"] ?? "";
	if (!type.startsWith("text/event-stream") || !response.body)
		return recordWhole(response, type, (content) => record({ status, headers, ...content }));
	const events = new EventReader(elapsed);
	const end = (cut?: string) =>
		record({ status, headers, events: events.end(), ...(cut !== undefined && { cut }) });
	return new Response(
		observed(response.body, (chunk) => events.push(chunk), end),
		response,
	);
}

async function recordWhole(
	response: Response,
	type: string,
	record: (content: Content) => Promise<void>,
): Promise<Response> {
	const bytes = new Uint8Array(await response.arrayBuffer());
	await record(contentOf(bytes, type));
	return new Response(bytes.length === 0 ? null : bytes, response);
}

function contentOf(bytes: Uint8Array, type: string): Content {
	if (!/^(?:application\/json|text\/)/i.test(type)) return { base64: Buffer.from(bytes).toString("base64") };
	const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
	return exactJson(text) ?? { text };
}

/** The value of a text that is exactly its JSON. */
function exactJson(text: string): { json: unknown } | undefined {
	const json = parseJson(text);
	return json !== undefined && JSON.stringify(json) === text ? { json } : undefined;
}

const LEFT = "the caller left";

/** Passes a body on. `end` has the reason if the body did not end. */
function observed(
	body: ReadableStream<Uint8Array>,
	push: (chunk: Uint8Array) => void,
	end: (cut?: string) => Promise<void>,
): ReadableStream<Uint8Array> {
	const reader = body.getReader();
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			try {
				const { done, value } = await reader.read();
				if (!done) {
					push(value);
					controller.enqueue(value);
					return;
				}
			} catch (error) {
				await end(error instanceof Error ? error.message : String(error));
				controller.error(error);
				return;
			}
			await end();
			controller.close();
		},
		async cancel(reason) {
			await Promise.all([reader.cancel(reason), end(LEFT)]);
		},
	});
}

const EVENT_END = "\n\n";
const DATA = "data: ";

class EventReader {
	readonly #elapsed: () => number;
	readonly #decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
	readonly #events: StreamEvent[] = [];
	#rest = "";

	constructor(elapsed: () => number) {
		this.#elapsed = elapsed;
	}

	push(chunk: Uint8Array): void {
		this.#rest += this.#decoder.decode(chunk, { stream: true });
		for (let end = this.#rest.indexOf(EVENT_END); end >= 0; end = this.#rest.indexOf(EVENT_END)) {
			this.#add(this.#rest.slice(0, end + EVENT_END.length));
			this.#rest = this.#rest.slice(end + EVENT_END.length);
		}
	}

	end(): StreamEvent[] {
		const rest = this.#rest + this.#decoder.decode();
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

/** `speed`: 1 for the recorded times between events, 2 for half of them. `undefined`: without waiting. */
export function replay({ cut, headers, status, ...content }: Answer, speed: number | undefined): Response {
	return new Response("events" in content ? replayedStream(content.events, cut, speed) : bodyOf(content), {
		headers,
		status,
	});
}

function bodyOf(content: Exclude<Content, { events: unknown }>): string | Uint8Array<ArrayBuffer> | null {
	if ("json" in content) return JSON.stringify(content.json);
	if ("text" in content) return content.text;
	return content.base64 === "" ? null : new Uint8Array(Buffer.from(content.base64, "base64"));
}

function replayedStream(
	events: readonly StreamEvent[],
	cut: string | undefined,
	speed: number | undefined,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	let next = 0;
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			const event = events[next++];
			if (!event) {
				if (cut === undefined) controller.close();
				else controller.error(new Error(`The recorded stream did not end: ${cut}`));
				return;
			}
			if (speed !== undefined) await scheduler.wait((event.at - (events[next - 2]?.at ?? 0)) / speed);
			controller.enqueue(encoder.encode(textOf(event)));
		},
	});
}

const textOf = (event: StreamEvent): string =>
	"text" in event ? event.text : `${DATA}${JSON.stringify(event.json)}${EVENT_END}`;
