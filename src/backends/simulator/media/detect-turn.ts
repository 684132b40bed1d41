/**
 * Turn detection: someone who has finished is silent. Compares how loud the end is with the whole; a model would
 * listen to the words and their melody as well.
 */
import { AiError } from "../../../errors.ts";
import type { TurnInput, TurnOutput } from "../../../tasks/audio.ts";
import { rawFormatOf } from "./raw-format.ts";
import { lastSamples, type RawFormat } from "./samples.ts";

/** As much as smart-turn-v2 listens to. */
const HEARD_SECONDS = 16;
const END_SECONDS = 0.25;
/** Of full scale: below it there is nothing to hear. */
const SILENCE = 0.001;
/** Loudness of the end, by that of the whole, at which either answer is as likely. */
const EVEN_RATIO = 0.25;
const DTYPE_RATE_HZ = 16_000;

const DTYPES: Record<NonNullable<TurnInput["dtype"]>, RawFormat> = {
	uint8: { code: "pcm", bits: 8, rate: DTYPE_RATE_HZ, channels: 1 },
	float32: { code: "float", bits: 32, rate: DTYPE_RATE_HZ, channels: 1 },
	float64: { code: "float", bits: 64, rate: DTYPE_RATE_HZ, channels: 1 },
};

export async function detectTurn({ audio, dtype }: TurnInput): Promise<TurnOutput> {
	const samples = decoded(audio.bytes, dtype ? DTYPES[dtype] : rawFormatOf(audio.contentType));
	if (!samples || samples.values.length === 0)
		throw new AiError(
			"invalidInput",
			"audio must be a WAV file, or raw samples whose dtype (uint8, float32, float64; 16 kHz) or content type says how they are written.",
		);
	const { values, perSecond } = samples;
	const end = loudness(values.subarray(-Math.ceil(END_SECONDS * perSecond)));
	const probability = end === 0 ? 1 : 1 / (1 + (end / loudness(values) / EVEN_RATIO) ** 2);
	return { is_complete: probability > 0.5, probability };
}

function decoded(bytes: Uint8Array, raw: RawFormat | undefined) {
	try {
		return lastSamples(bytes, HEARD_SECONDS, raw);
	} catch (cause) {
		throw new AiError("invalidInput", undefined, { cause });
	}
}

/** Root mean square around the mean: a microphone's offset is not sound. */
function loudness(values: Float64Array): number {
	const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
	const power = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
	const level = Math.sqrt(power);
	return level < SILENCE ? 0 : level;
}
