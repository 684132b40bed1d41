/** The end of chat streams in every dialect: the success or exactly one error event, never both. */
import { AiError } from "../../core/errors.ts";
import type { EventTemplate, Surroundings } from "../../streams/delta-event.ts";
import { isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import { firstChoice, parseChunk } from "./chunks.ts";
import { errorFrame } from "./errors.ts";

interface ChatEventStages {
	/** Returns the text to send for one chunk. `data` is on one line. `value` is the parsed data, if it is available. */
	onData(data: string, value?: unknown): string;
	/** Returns what surrounds the content of the next chunk. `undefined`: {@link onData} writes it. */
	onDelta?(template: EventTemplate): Surroundings | undefined;
	/** Returns the text to send after the last chunk, `[DONE]` included. */
	onDone(): string;
}

/** Takes over `events`, a stream of OpenAI chunks. A stream that ends without `[DONE]` fails with 5001. */
export function mapChatEvents(
	events: ReadableStream<Uint8Array>,
	stages: ChatEventStages,
): ReadableStream<Uint8Array> {
	let done = false;
	return mapEvents(events, {
		onData(data, value) {
			if (done) return "";
			// Data of several lines is JSON with line breaks between its tokens. The forwarded data must be on one line.
			if (value !== undefined || !isDone(data)) return stages.onData(data.replaceAll("\n", " "), value);
			done = true;
			return stages.onDone();
		},
		onDelta: (template) => (done ? undefined : stages.onDelta?.(template)),
		onEnd() {
			if (!done) throw new AiError("executionFailed", "The engine's stream ended before its reply did");
			return "";
		},
		onError: errorFrame,
	});
}

/** The failure of an answer with the finish reason `error`, and of a stream without `[DONE]`. */
export const unfinishedAnswer = (): AiError =>
	new AiError("executionFailed", "The model could not finish its answer");

/** Writes one stream in another dialect. Each method returns the events to send. */
interface ChunkWriter {
	add(chunk: ChatChunk): string;
	/** Called after `[DONE]`. */
	finish(): string;
	/** Called for a failure in place of {@link finish}. The events sent so far must not look complete. */
	fail(error: AiError): string;
}

/** Takes over `events`, a stream of OpenAI chunks. Nothing is sent after {@link ChunkWriter.finish} or {@link ChunkWriter.fail}. */
export function writeChunks(
	events: ReadableStream<Uint8Array>,
	writer: ChunkWriter,
): ReadableStream<Uint8Array> {
	let ended = false;
	const fail = (error: AiError): string => {
		if (ended) return "";
		ended = true;
		return writer.fail(error);
	};
	return mapEvents(events, {
		onData(data, value) {
			if (ended) return "";
			const chunk = parseChunk(data, value);
			if (chunk !== "done") {
				const out = writer.add(chunk);
				return firstChoice(chunk)?.finish_reason === "error" ? out + fail(unfinishedAnswer()) : out;
			}
			const out = writer.finish();
			ended = true;
			return out;
		},
		onEnd: () => fail(unfinishedAnswer()),
		onError: fail,
	});
}
