/**
 * Ends a session of live transcription before it uses more than its reservation, or outlives it. The length of a session is
 * unknown at its start: without a bound it could exceed its budget, or be charged as if the gateway had crashed.
 */
import { AiError } from "../core/errors.ts";
import type { StartTimer } from "../core/lazy-timer.ts";
import { own } from "../core/own.ts";
import type {
	ListenCommand,
	LiveTranscription,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../tasks/live-transcription/types.ts";

/** Bytes of a sample. For other encodings only the engine knows the duration of the audio. */
const SAMPLE_BYTES: Partial<Record<string, number>> = { linear16: 2, mulaw: 1 };

interface SessionBounds {
	/** Seconds of audio, summed over all channels. Absent: no budget limits the session. */
	seconds?: number;
	/** Milliseconds from now. */
	ms: number;
	startTimer: StartTimer;
}

export interface BoundedSession extends LiveTranscription {
	/** A bound has ended the session. */
	isAtBound(): boolean;
	/** Seconds of audio up to the last transcript, summed over all channels. */
	transcribedSeconds(): number;
	/**
	 * Seconds of audio that were sent, summed over all channels, and at least {@link transcribedSeconds}. If the samples of the encoding have no fixed
	 * length, it is that.
	 */
	sentSeconds(): number;
}

/** Takes over the session. At its bound both of its streams error with an `AiError`. */
export function boundSession(
	{ readable, writable }: LiveTranscription,
	{ samples }: LiveTranscriptionInput,
	{ seconds: limit = Number.POSITIVE_INFINITY, ms, startTimer }: SessionBounds,
): BoundedSession {
	const reader = readable.getReader();
	const writer = writable.getWriter();
	const channels = samples?.channels ?? 1;
	const bytesPerSecond = (samples?.sample_rate ?? 0) * (own(SAMPLE_BYTES, samples?.encoding) ?? 0);
	let output: ReadableStreamDefaultController<TranscriptionEvent> | undefined;
	let transcribed = 0;
	let ending: AiError | undefined;

	const end = (error: AiError): AiError => {
		if (ending) return ending;
		ending = error;
		timer.cancel();
		reader.cancel(error).catch(() => {});
		writer.abort(error).catch(() => {});
		output?.error(error);
		return error;
	};
	const limitReached = (): AiError =>
		new AiError(
			"budgetExceeded",
			`This session has received the ${limit} seconds of audio that were reserved of a daily budget of neurons`,
		);
	const timer = startTimer(ms, () =>
		end(new AiError("timeout", "This session has lasted as long as any may: LIMITS.hold_ms")),
	);

	const events = new ReadableStream<TranscriptionEvent>(
		{
			start(controller) {
				output = controller;
			},
			async pull(controller) {
				try {
					const { done, value } = await reader.read();
					if (ending) return;
					if (done) {
						timer.cancel();
						return controller.close();
					}
					controller.enqueue(value);
					if ("end" in value) transcribed = Math.max(transcribed, value.end * channels);
					// The last event reports the whole session, which is over then.
					if (value.kind !== "ended" && transcribed >= limit) end(limitReached());
				} catch (error) {
					if (ending) return;
					timer.cancel();
					controller.error(error);
				}
			},
			cancel(reason) {
				timer.cancel();
				return reader.cancel(reason);
			},
		},
		{ highWaterMark: 0 },
	);
	let sent = 0;
	const commands = new WritableStream<ListenCommand>({
		async write(command) {
			if (ending) throw ending;
			if (command.kind === "audio" && bytesPerSecond > 0) {
				const after = sent + command.bytes.length / bytesPerSecond;
				if (after > limit) throw end(limitReached());
				sent = after;
			}
			await writer.write(command);
		},
		close: () => writer.close(),
		abort: (reason) => writer.abort(reason),
	});
	return {
		readable: events,
		writable: commands,
		isAtBound: () => ending !== undefined,
		transcribedSeconds: () => transcribed,
		sentSeconds: () => Math.max(transcribed, sent),
	};
}
