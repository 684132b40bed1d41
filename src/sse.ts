/**
 * Bytes to events and back. Parsing is `eventsource-parser`'s; what is ours is the pull-through: one event in, text
 * out, an end and a failure that the caller of this file decides about, and a cancel that reaches the source.
 */
import { createParser } from "eventsource-parser";
import { type AiError, toAiError } from "./errors.ts";

export const SSE_CONTENT_TYPE = "text/event-stream";
export const DONE = "data: [DONE]\n\n";

/** One event with a JSON body. */
export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** One named event with a JSON body, as OpenAI's Responses and Anthropic's Messages have them. */
export const namedFrame = (event: string, value: unknown): string =>
	`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;

export interface EventStages {
	/** The `data` of one event; the text to send for it, `""` for nothing. A throw becomes `onError`. */
	onData(data: string): string;
	/** The source ended by itself. */
	onEnd?(): string;
	/** The source failed, or a stage threw: the last text to send. Without it the failure errors the stream. */
	onError?(error: AiError): string;
}

/**
 * Rewrites an event stream event by event. Cancelling the result cancels `source`; a failing stage does too.
 * Takes over `source`.
 */
export function mapEvents(
	source: ReadableStream<Uint8Array>,
	stages: EventStages,
): ReadableStream<Uint8Array> {
	let out = "";
	const take = (): string => {
		const text = out;
		out = "";
		return text;
	};
	const parser = createParser({
		onEvent: ({ data }) => {
			out += stages.onData(data);
		},
	});
	const decoder = new TextDecoder();
	const { onError } = stages;
	return pullThrough(source, {
		onChunk: (chunk) => {
			parser.feed(decoder.decode(chunk, { stream: true }));
			return take();
		},
		onEnd: () => {
			// A last event without its blank line still counts, as every client treats it.
			parser.feed(`${decoder.decode()}\n\n`);
			out += stages.onEnd?.() ?? "";
			return take();
		},
		// What the events before the failing one became is sent, however the network cut the bytes.
		onError: onError && ((error) => take() + onError(error)),
	});
}

/** Passes bytes on as they are; a failure of the source becomes one last frame. Takes over `source`. */
export function endInFrame(
	source: ReadableStream<Uint8Array>,
	onError: (error: AiError) => string,
): ReadableStream<Uint8Array> {
	return pullThrough(source, { onChunk: (chunk) => chunk, onEnd: () => "", onError });
}

interface Stages {
	onChunk(chunk: Uint8Array): string | Uint8Array;
	onEnd(): string;
	onError?: ((error: AiError) => string) | undefined;
}

function pullThrough(source: ReadableStream<Uint8Array>, stages: Stages): ReadableStream<Uint8Array> {
	const reader = source.getReader();
	const encoder = new TextEncoder();
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				try {
					// A read that gives nothing to send must be followed by another, or the puller would wait for ever.
					for (;;) {
						const { done, value } = await reader.read();
						const out = done ? stages.onEnd() : stages.onChunk(value);
						if (out.length > 0) controller.enqueue(typeof out === "string" ? encoder.encode(out) : out);
						if (done) return controller.close();
						if (out.length > 0) return;
					}
				} catch (error) {
					await reader.cancel(error).catch(() => {});
					if (!stages.onError) return controller.error(error);
					controller.enqueue(encoder.encode(stages.onError(toAiError(error))));
					controller.close();
				}
			},
			cancel: (reason) => reader.cancel(reason),
		},
		{ highWaterMark: 0 },
	);
}
