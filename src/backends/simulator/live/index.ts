/**
 * Live transcription without a model: it hears that someone speaks, not what. Raw samples carry no text (the files of
 * the simulator's own speech do), so the transcript is what was measured: `[speech 1.2 s]` for a turn or a segment with
 * so much speech, growing by tenths while it lasts. The same sound gives the same events, however it is cut into
 * pieces and whenever it comes: no clock is asked.
 */
import { AiError } from "../../../core/errors.ts";
import type {
	ListenCommand,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../../../tasks/live-transcription/types.ts";
import type { Answer } from "../../../tasks/task.ts";
import { ENCODINGS, Loudness } from "./loudness.ts";
import type { Narrator } from "./narrator.ts";
import { SegmentNarrator } from "./segments.ts";
import { TurnNarrator } from "./turns.ts";
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
	readonly #narrator: Narrator;
	readonly #channels: number;
	readonly #voice = new Voice();

	/** Throws `invalidInput` for samples that are not read here. */
	constructor({ samples, division }: LiveTranscriptionInput) {
		const loudness = samples && Loudness.of(samples);
		if (!samples || !loudness)
			throw new AiError(
				"invalidInput",
				`Invalid input: the simulator hears raw samples; encoding must be one of ${ENCODINGS.join(", ")}, with a sample_rate.`,
			);
		this.#loudness = loudness;
		this.#channels = samples.channels;
		this.#narrator =
			division.kind === "turns"
				? new TurnNarrator(division, loudness.windowSeconds)
				: new SegmentNarrator(division, loudness.windowSeconds);
	}

	*take(command: ListenCommand): Generator<TranscriptionEvent> {
		switch (command.kind) {
			case "audio":
				for (const loudness of this.#loudness.hear(command.bytes)) {
					this.#voice.hear(loudness);
					yield* this.#narrator.hear(this.#voice);
				}
				return;
			case "finalize":
				yield* this.#narrator.finalize(this.#voice);
				return;
			default:
				command satisfies never;
		}
	}

	*end(): Generator<TranscriptionEvent> {
		yield* this.#narrator.end(this.#voice);
		const duration = Math.round(this.#loudness.duration * 1000) / 1000;
		yield { kind: "ended", duration, channels: this.#channels };
	}
}
