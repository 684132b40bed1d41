/**
 * MP3 files of silence, from frames without sound. Every MP3 encoder for JavaScript has the LGPL, which would bind the users
 * of the bundle. A frame is a header and zeros (ISO/IEC 13818-3, layer III, one channel, 24 kHz). As Deepgram has it, an MP3
 * has one sample rate and two bit rates.
 */
import { AiError } from "../../../core/errors.ts";
import type { SpeechInput } from "../../../tasks/text-to-speech/index.ts";

const RATE_HZ = 24_000;
const FRAME_SAMPLES = 576;
/** The header of a frame, by bits a second. */
const HEADERS = new Map([
	[32_000, [0xff, 0xf3, 0x44, 0xc0]],
	[48_000, [0xff, 0xf3, 0x64, 0xc0]],
]);
const USUAL_BIT_RATE = 48_000;
/** Readers count a few frames before they give a duration. */
const MIN_FRAMES = 8;

/** As many frames as the seconds take. */
export function silentMp3(
	{ container = "none", sample_rate = RATE_HZ, bit_rate = USUAL_BIT_RATE }: SpeechInput,
	seconds: number,
): Uint8Array {
	if (container !== "none")
		throw new AiError("invalidInput", `mp3 needs no container; it cannot be put in ${container}.`);
	if (sample_rate !== RATE_HZ)
		throw new AiError("invalidInput", `sample_rate for mp3 must be ${RATE_HZ}, or left out.`);
	const header = HEADERS.get(bit_rate);
	if (!header)
		throw new AiError("invalidInput", `bit_rate for mp3 must be one of ${[...HEADERS.keys()].join(", ")}.`);
	const frameBytes = (FRAME_SAMPLES / 8) * (bit_rate / RATE_HZ);
	const frames = Math.max(MIN_FRAMES, Math.round((seconds * RATE_HZ) / FRAME_SAMPLES));
	const file = new Uint8Array(frameBytes * frames);
	for (let frame = 0; frame < frames; frame++) file.set(header, frame * frameBytes);
	return file;
}
