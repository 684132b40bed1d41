/** A session of live transcription as websocket frames: the common part of Deepgram's two protocols. */
import * as z from "zod";
import { type AiError, toAiError } from "../../core/errors.ts";
import type { LiveTranscription, TranscriptionEvent } from "../../tasks/live-transcription/types.ts";
import type { WriteContext, Writer } from "../dialect.ts";
import { invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";

/** The effect of a control message. */
type Control = "end" | "finalize" | "none";

export interface LiveProtocol {
	/** Sent before any audio. */
	opening: readonly object[];
	/** Control messages by their `type`. */
	controls: ReadonlyMap<string, Control>;
	/** Called with the caller's audio. */
	onAudio?(bytes: Uint8Array): void;
	/** The messages for an event. */
	write(event: TranscriptionEvent): readonly object[];
	/** The message for a failure, sent before the end. */
	fail(error: AiError): object;
}

/** Takes over the session. Binary frames are audio, text frames are control messages. */
export const liveWriter = (protocolOf: (context: WriteContext) => LiveProtocol): Writer => ({
	write(answer, context) {
		const { readable, writable } = outputValue("live-transcription", answer);
		const protocol = protocolOf(context);
		return {
			kind: "socket",
			frames: { readable: outgoing(readable, protocol), writable: incoming(writable, protocol) },
		};
	},
});

function outgoing(
	events: ReadableStream<TranscriptionEvent>,
	protocol: LiveProtocol,
): ReadableStream<string> {
	const reader = events.getReader();
	let failure: AiError | undefined;
	let cancelled = false;
	return new ReadableStream(
		{
			start(controller) {
				for (const message of protocol.opening) controller.enqueue(JSON.stringify(message));
			},
			async pull(controller) {
				// At the next pull, because an error discards frames that are not read yet.
				if (failure) return controller.error(failure);
				try {
					// An event may have no frames. A pull without frames would be the last one.
					for (let sent = 0; sent === 0; ) {
						const { done, value } = await reader.read();
						if (cancelled) return;
						if (done) return controller.close();
						for (const message of protocol.write(value)) {
							controller.enqueue(JSON.stringify(message));
							sent++;
						}
					}
				} catch (thrown) {
					failure = toAiError(thrown);
					controller.enqueue(JSON.stringify(protocol.fail(failure)));
				}
			},
			cancel(reason) {
				cancelled = true;
				return reader.cancel(reason);
			},
		},
		{ highWaterMark: 0 },
	);
}

function incoming(
	commands: LiveTranscription["writable"],
	protocol: LiveProtocol,
): WritableStream<string | Uint8Array> {
	const writer = commands.getWriter();
	let ended = false;
	async function end(): Promise<void> {
		if (ended) return;
		ended = true;
		await writer.close();
	}
	return new WritableStream({
		async write(frame) {
			if (ended) return;
			if (typeof frame !== "string") {
				protocol.onAudio?.(frame);
				return writer.write({ kind: "audio", bytes: frame });
			}
			const control = controlOf(frame, protocol.controls);
			switch (control) {
				case "end":
					return end();
				case "finalize":
					return writer.write({ kind: "finalize" });
				case "none":
					return;
				case undefined: {
					const types = [...protocol.controls.keys()].join(", ");
					const error = invalidInput(`a text frame must be a JSON message whose type is one of ${types}`);
					// The session sends the error to the caller.
					await writer.abort(error);
					throw error;
				}
				default:
					control satisfies never;
			}
		},
		close: end,
		abort: (reason) => writer.abort(reason),
	});
}

const Message = z.looseObject({ type: z.string() });

function controlOf(frame: string, controls: ReadonlyMap<string, Control>): Control | undefined {
	try {
		return controls.get(Message.parse(JSON.parse(frame)).type);
	} catch {
		return;
	}
}

/** Bounds of the audio that a session accepts. */
const MIN_SAMPLE_RATE_HZ = 4_000;
const MAX_SAMPLE_RATE_HZ = 96_000;
const MAX_CHANNELS = 32;

export const readSampleRate = (sent: string | number): number =>
	inRange("sample_rate", Number(sent), MIN_SAMPLE_RATE_HZ, MAX_SAMPLE_RATE_HZ);

export const readChannels = (sent: string | number): number =>
	inRange("channels", Number(sent), 1, MAX_CHANNELS);

/** Throws 8001. The schema guarantees that the value is a number. */
export function inRange(field: string, value: number, min: number, max: number): number {
	if (value >= min && value <= max) return value;
	throw invalidInput(`${field} must be from ${min} to ${max}`);
}
