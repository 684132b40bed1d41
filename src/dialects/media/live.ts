/** A session of live transcription as the frames of a websocket: what Deepgram's two protocols have in common. */
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import type { LiveTranscription, TranscriptionEvent } from "../../tasks/live-transcription/types.ts";
import type { SocketFrames } from "../dialect.ts";

/** What a control message asks for. */
type Control = "end" | "finalize" | "nothing";

export interface LiveProtocol {
	/** Sent before there is any sound. */
	opening: readonly object[];
	/** Control messages by their `type`. */
	controls: ReadonlyMap<string, Control>;
	/** Sees the sound that passes. */
	hear?(bytes: Uint8Array): void;
	/** What is sent of an event. */
	write(event: TranscriptionEvent): readonly object[];
	/** What is sent of a failure, before the end. */
	fail(error: AiError): object;
}

/** Takes over the session. Binary frames are sound, text frames are control messages. */
export function framesOf(session: LiveTranscription, protocol: LiveProtocol): SocketFrames {
	return { readable: outgoing(session.readable, protocol), writable: incoming(session.writable, protocol) };
}

function outgoing(
	events: ReadableStream<TranscriptionEvent>,
	protocol: LiveProtocol,
): ReadableStream<string> {
	const reader = events.getReader();
	let failure: AiError | undefined;
	let left = false;
	return new ReadableStream(
		{
			start(controller) {
				for (const message of protocol.opening) controller.enqueue(JSON.stringify(message));
			},
			async pull(controller) {
				// Not at once: an error drops the frames that nobody has read yet.
				if (failure) return controller.error(failure);
				try {
					// An event may have no frames, and a pull without any would be the last.
					for (let sent = 0; sent === 0; ) {
						const { done, value } = await reader.read();
						if (left) return;
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
				left = true;
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
				protocol.hear?.(frame);
				return writer.write({ kind: "audio", bytes: frame });
			}
			const control = controlOf(frame, protocol.controls);
			switch (control) {
				case "end":
					return end();
				case "finalize":
					return writer.write({ kind: "finalize" });
				case "nothing":
					return;
				case undefined: {
					const known = [...protocol.controls.keys()].join(", ");
					const error = new AiError(
						"invalidInput",
						`Invalid input: a text frame must be a JSON message whose type is one of ${known}`,
					);
					// The session tells the caller.
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

/** Samples that a session can be asked to hear. */
const LOWEST_RATE_HZ = 4_000;
const HIGHEST_RATE_HZ = 96_000;
const MOST_CHANNELS = 32;

export const sampleRateOf = (sent: string | number): number =>
	within("sample_rate", Number(sent), LOWEST_RATE_HZ, HIGHEST_RATE_HZ);

export const channelsOf = (sent: string | number): number =>
	within("channels", Number(sent), 1, MOST_CHANNELS);

/** Throws 8001. The schema has seen to it that there is a number at all. */
export function within(field: string, value: number, least: number, most: number): number {
	if (value >= least && value <= most) return value;
	throw new AiError("invalidInput", `Invalid input: ${field} must be from ${least} to ${most}`);
}
