/** Turn detection: the same undecided answer for all audio. */
import { AiError } from "../../../core/errors.ts";
import type { TurnInput, TurnOutput } from "../../../tasks/turn-detection/index.ts";
import { rawFormatOf } from "./raw-format.ts";
import { isWav } from "./riff.ts";

export async function detectTurn({ audio, dtype }: TurnInput): Promise<TurnOutput> {
	const { bytes, contentType } = audio;
	if (bytes.length === 0 || !(isWav(bytes) || dtype || rawFormatOf(contentType)))
		throw new AiError(
			"invalidInput",
			"audio must be a WAV file, or raw samples whose dtype (uint8, float32, float64; 16 kHz) or content type says how they are written.",
		);
	return { is_complete: false, probability: 0.5 };
}
