/**
 * Bytes to events and back. Parsing is `eventsource-parser`'s; what is ours is the pull-through: one event in, text
 * out, an end and a failure that the caller of this file decides about, and a cancel that reaches the source.
 */
import { createParser } from "eventsource-parser";
import { type AiError, toAiError } from "./errors.ts";
import { PulledStream } from "./media/pulled-stream.ts";

export const SSE_CONTENT_TYPE = "text/event-stream";
export const DONE = "data: [DONE]\n\n";

/** How comments begin that are ours: `: ganglion backend=… attempts=…`. Every rewriting of a stream keeps them. */
const OWN_COMMENT = "ganglion ";
export const ownComment = (text: string): string => `: ${OWN_COMMENT}${text}\n\n`;

/** One event with a JSON body. */
export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** One named event with a JSON body, as OpenAI's Responses and Anthropic's Messages have them. */
export const namedFrame = (event: string, value: unknown): string =>
	`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;

/** Whether the `data` of an event is the end of a stream. Some engines have white space around it. */
export const isDone = (data: string): boolean => data.trim() === "[DONE]";

interface EventStages {
	/** The `data` of one event; the text to send for it, `""` for nothing. A throw becomes `onError`. */
	onData(data: string): string;
	/** The source ended by itself. */
	onEnd?(): string;
	/** The source failed, or a stage threw: text that was held back, to be sent before anything is said of the failure. */
	onFailure?(): string;
	/** The source failed, or a stage threw: the last text to send. Without it the failure errors the stream. */
	onError?(error: AiError): string;
}

/**
 * Rewrites an event stream event by event. Cancelling the result cancels `source`; a failing stage does too. What the
 * events before a failure became is sent, however the network cut the bytes. Takes over `source`.
 */
export function mapEvents(
	source: ReadableStream<Uint8Array>,
	stages: EventStages,
): ReadableStream<Uint8Array> {
	let out = "";
	let failed: { error: unknown } | undefined;
	const from = PulledStream.sourceOf(source);
	const decoder = new TextDecoder();
	const encoder = new TextEncoder();
	const parser = createParser({
		onEvent: ({ data }) => {
			out += stages.onData(data);
		},
		// An engine's own comments are for whoever waits for it, which is not the caller.
		onComment: (comment) => {
			if (comment.startsWith(OWN_COMMENT)) out += `: ${comment}\n\n`;
		},
	});
	/** Says whether the source has ended. */
	const step = async (): Promise<boolean> => {
		const bytes = await from.pull();
		const done = bytes === undefined;
		// A last event without its blank line still counts, as every client treats it.
		parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true }));
		if (done) out += stages.onEnd?.() ?? "";
		return done;
	};
	let over = false;
	return new PulledStream<Uint8Array>({
		async pull() {
			if (failed) throw failed.error;
			if (over) return undefined;
			try {
				// A pull that gives nothing to send must be followed by another, or the puller would wait for ever.
				while (!out && !over) over = await step();
			} catch (error) {
				await from.cancel(error).catch(() => {});
				out += stages.onFailure?.() ?? "";
				over = stages.onError !== undefined;
				if (stages.onError) out += stages.onError(toAiError(error));
				// An error at once would take back what is sent here: it is for the next pull.
				else if (out) failed = { error };
				else throw error;
			}
			const text = out;
			out = "";
			return text ? encoder.encode(text) : undefined;
		},
		cancel: (reason) => from.cancel(reason),
	});
}
