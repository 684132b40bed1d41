/**
 * Live transcription without a model: it detects speech, but not words. Raw samples contain no text (the files of the
 * simulator's own speech do), so the transcript is the duration of the speech in a turn or segment: `[speech 1.2 s]`. The
 * same audio gives the same events, for all sizes and times of its pieces: no clock is used.
 */
import { AiError } from "../../../core/errors.ts";
import type {
	ListenCommand,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../../../tasks/live-transcription/types.ts";
import type { Answer } from "../../../tasks/task.ts";
import type { EventBuilder } from "./event-builder.ts";
import { ENCODINGS, Loudness } from "./loudness.ts";
import { SegmentBuilder } from "./segments.ts";
import { TurnBuilder } from "./turns.ts";
import { Voice } from "./voice.ts";

export async function liveTranscription(
	input: LiveTranscriptionInput,
): Promise<Answer<"live-transcription">> {
	const ear = new Ear(input);
	const output = new TransformStream<ListenCommand, TranscriptionEvent>({
		transform(command, controller) {
			for (const event of ear.take(command)) controller.enqueue(event);
		},
		flush(controller) {
			for (const event of ear.end()) controller.enqueue(event);
		},
	});
	return { kind: "value", output };
}

/** A session without its streams. */
export class Ear {
	readonly #loudness: Loudness;
	readonly #builder: EventBuilder;
	readonly #channels: number;
	readonly #voice = new Voice();

	/** Throws `invalidInput` for an unsupported encoding. */
	constructor({ samples, division }: LiveTranscriptionInput) {
		const loudness = samples && Loudness.of(samples);
		if (!samples || !loudness)
			throw new AiError(
				"invalidInput",
				`Invalid input: the simulator hears raw samples; encoding must be one of ${ENCODINGS.join(", ")}, with a sample_rate.`,
			);
		this.#loudness = loudness;
		this.#channels = samples.channels;
		this.#builder =
			division.kind === "turns"
				? new TurnBuilder(division, loudness.windowSeconds)
				: new SegmentBuilder(division, loudness.windowSeconds);
	}

	*take(command: ListenCommand): Generator<TranscriptionEvent> {
		switch (command.kind) {
			case "audio":
				for (const loudness of this.#loudness.process(command.bytes)) {
					this.#voice.process(loudness);
					yield* this.#builder.process(this.#voice);
				}
				return;
			case "finalize":
				yield* this.#builder.finalize(this.#voice);
				return;
			default:
				command satisfies never;
		}
	}

	*end(): Generator<TranscriptionEvent> {
		yield* this.#builder.end(this.#voice);
		const duration = Math.round(this.#loudness.duration * 1000) / 1000;
		yield { kind: "ended", duration, channels: this.#channels };
	}
}
