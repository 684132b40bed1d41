/**
 * Ends a session of live transcription before it passes what was reserved for it, or outlives its reservation. How long
 * a session will be nobody knows at its start: without an end it would pass its budget, or be billed as if it had died.
 */
import { AiError } from "../core/errors.ts";
import type {
	ListenCommand,
	LiveTranscription,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../tasks/live-transcription/types.ts";

/** Of each sample; where it is not known, only the engine can say how much it heard. */
const SAMPLE_BYTES: Partial<Record<string, number>> = { linear16: 2, mulaw: 1 };

export interface SessionBounds {
	/** Seconds of sound, of all channels together. Absent: no budget limits it. */
	seconds?: number;
	/** Milliseconds from now. */
	ms: number;
	wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface BoundedSession extends LiveTranscription {
	/** Seconds of sound, of all channels together, where a bound has ended it. */
	heardUntilEnd(): number | undefined;
}

/** Takes over the session. At its bound both of its streams error with an `AiError`. */
export function boundSession(
	{ readable, writable }: LiveTranscription,
	{ samples }: LiveTranscriptionInput,
	{ seconds: most = Number.POSITIVE_INFINITY, ms, wait }: SessionBounds,
): BoundedSession {
	const reader = readable.getReader();
	const writer = writable.getWriter();
	const timer = new AbortController();
	const channels = samples?.channels ?? 1;
	const bytesPerSecond = (samples?.sample_rate ?? 0) * (SAMPLE_BYTES[samples?.encoding ?? ""] ?? 0);
	let output: ReadableStreamDefaultController<TranscriptionEvent> | undefined;
	let heard = 0;
	let ending: AiError | undefined;

	const end = (error: AiError): AiError => {
		if (ending) return ending;
		ending = error;
		timer.abort();
		reader.cancel(error).catch(() => {});
		writer.abort(error).catch(() => {});
		output?.error(error);
		return error;
	};
	const usedUp = (): AiError =>
		new AiError(
			"budgetExceeded",
			`This session has heard the ${most} seconds that were reserved of a daily budget of neurons`,
		);
	wait(ms, timer.signal).then(
		() => end(new AiError("timeout", "This session has lasted as long as any may: LIMITS.hold_ms")),
		() => {},
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
						timer.abort();
						return controller.close();
					}
					controller.enqueue(value);
					if ("end" in value) heard = Math.max(heard, value.end * channels);
					// The last event of a session comes when it is over.
					if (value.kind !== "ended" && heard >= most) end(usedUp());
				} catch (error) {
					if (ending) return;
					timer.abort();
					controller.error(error);
				}
			},
			cancel(reason) {
				timer.abort();
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
				if (after > most) throw end(usedUp());
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
		heardUntilEnd: () => (ending ? Math.max(heard, sent) : undefined),
	};
}
