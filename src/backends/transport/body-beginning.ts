/**
 * Finds out whether a body is a stream of events, for hosts that label their streams as text, as JSON, or not at all. A body that begins
 * with a field of a server-sent event is one; JSON lines need a media type of their own, because a complete reply is JSON, too.
 */
import { Utf8Pieces } from "../../media/utf8.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { mediaType } from "./reply-body.ts";
import { type Call, failureOfInterruption } from "./upstream-failure.ts";

/** Characters of the longest field name, with its colon. */
const BEGINNING_CHARS = 6;
const EVENT_FIELD = /^(?:data|event|id|retry)?:/i;
const JSON_LINES = /ndjson|jsonl|json-seq|stream\+json|json-stream/;

export interface BodyBeginning {
	/** All bytes. `null`: the reply has no body. */
	body: ReadableStream<Uint8Array> | null;
	/** Set: the body is a stream. */
	format?: EventFormat | undefined;
}

/** A host whose streams are JSON lines may label them as anything but JSON, which is the label of its complete replies. */
function formatOf(
	beginning: string,
	type: string | undefined,
	usual: EventFormat | undefined,
): EventFormat | undefined {
	if (EVENT_FIELD.test(beginning)) return "sse";
	const hasLines = JSON_LINES.test(type ?? "") || (usual === "ndjson" && type !== "application/json");
	return hasLines && beginning.startsWith("{") ? "ndjson" : undefined;
}

/**
 * Takes over the body of the reply. Resolves when its first characters that are no white space have arrived. `usual`: the format of
 * the host's streams.
 */
export async function readBeginning(
	response: Response,
	call: Call,
	usual?: EventFormat,
): Promise<BodyBeginning> {
	if (!response.body) return { body: null };
	const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
	const text = new Utf8Pieces();
	const held: Uint8Array[] = [];
	let beginning = "";
	let isOver = false;
	while (!isOver && beginning.length < BEGINNING_CHARS) {
		const { done, value } = await reader.read().catch((error: unknown) => {
			throw failureOfInterruption(call, error);
		});
		isOver = done;
		if (!value) continue;
		held.push(value);
		beginning = (beginning + text.decode(value)).trimStart();
	}
	const body = new PulledStream<Uint8Array>({
		pull: async () => held.shift() ?? (await reader.read()).value,
		cancel: (reason) => reader.cancel(reason),
	});
	return { body, format: formatOf(beginning, mediaType(response), usual) };
}
