/** What the chat streams have in common, whatever they write: one `[DONE]`, or one error frame and none. */
import { AiError } from "../../core/errors.ts";
import { isDone, mapEvents } from "../../streams/sse.ts";
import { errorFrame } from "./errors.ts";

interface ChatEventStages {
	/** The data of one chunk, on one line; the text to send for it. `value`: what it is as JSON, where that is known. */
	onData(data: string, value?: unknown): string;
	/** All chunks have come: what is still to be sent, `[DONE]` included. */
	onDone(): string;
}

/** Takes over `events`, a hub stream. A stream that stops without `[DONE]` has failed. */
export function mapChatEvents(
	events: ReadableStream<Uint8Array>,
	stages: ChatEventStages,
): ReadableStream<Uint8Array> {
	let done = false;
	return mapEvents(events, {
		onData(data, value) {
			if (done) return "";
			// Data of several lines is JSON with line breaks between its tokens; sent on, it must be one line.
			if (value !== undefined || !isDone(data)) return stages.onData(data.replaceAll("\n", " "), value);
			done = true;
			return stages.onDone();
		},
		onEnd() {
			if (!done) throw new AiError("executionFailed", "The engine's stream ended before its reply did");
			return "";
		},
		onError: errorFrame,
	});
}
