/**
 * MP3 files of silence. Every MP3 encoder for JavaScript has the LGPL, which would bind the users of the bundle; frames
 * of silence need no encoder: a header, and zeros (ISO/IEC 11172-3 and 13818-3, layer III, one channel).
 */
import { AiError } from "../../../core/errors.ts";
import type { SpeechInput } from "../../../tasks/text-to-speech/index.ts";

const MPEG1_KILOBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KILOBITS = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** By sample rate: the bits of the version, those of the rate, samples a frame, bit rates. */
const FORMATS = new Map(
	[
		{ version: 0b11, rates: [44_100, 48_000, 32_000], samples: 1152, kilobits: MPEG1_KILOBITS },
		{ version: 0b10, rates: [22_050, 24_000, 16_000], samples: 576, kilobits: MPEG2_KILOBITS },
		{ version: 0b00, rates: [11_025, 12_000, 8_000], samples: 576, kilobits: MPEG2_KILOBITS.slice(0, 8) },
	].flatMap(({ rates, ...format }) =>
		rates.map((rate, rateBits) => [rate, { ...format, rateBits }] as const),
	),
);
const USUAL_RATE_HZ = 24_000;
/** For more bits than the usual rate has. */
const HIGH_RATE_HZ = 44_100;
const USUAL_KILOBITS = 48;
/** Readers count a few frames before they give a duration. */
const LEAST_FRAMES = 8;
const ONE_CHANNEL = 0xc0;
const SYNC = 0xffe0;
const LAYER_III = 0b01;
/** Without a check sum. */
const UNPROTECTED = 1;

/** Refuses unsupported rates at once. The result makes a file of the given seconds. */
export function mp3Writer({
	container,
	sample_rate,
	bit_rate,
}: SpeechInput): (seconds: number) => Uint8Array {
	if (container !== undefined && container !== "none")
		throw new AiError("invalidInput", `mp3 needs no container; it cannot be put in ${container}.`);
	const isHigh = bit_rate !== undefined && bit_rate > 160_000;
	const rate = sample_rate ?? (isHigh ? HIGH_RATE_HZ : USUAL_RATE_HZ);
	const format = FORMATS.get(rate);
	if (!format)
		throw new AiError(
			"invalidInput",
			`sample_rate for mp3 must be one of ${[...FORMATS.keys()].sort((a, b) => a - b).join(", ")}.`,
		);
	const { kilobits, rateBits, samples, version } = format;
	const kilobit = kilobits.indexOf(bit_rate === undefined ? USUAL_KILOBITS : bit_rate / 1000);
	const perSecond = kilobits[kilobit];
	if (perSecond === undefined)
		throw new AiError(
			"invalidInput",
			`bit_rate for mp3 must be one of ${kilobits.map((kbps) => kbps * 1000).join(", ")} at this sample_rate.`,
		);
	const frame = new Uint8Array(Math.floor((samples / 8) * ((perSecond * 1000) / rate)));
	const first = SYNC | (version << 3) | (LAYER_III << 1) | UNPROTECTED;
	frame.set([first >> 8, first & 0xff, ((kilobit + 1) << 4) | (rateBits << 2), ONE_CHANNEL]);
	return (seconds) => {
		const count = Math.max(LEAST_FRAMES, Math.round((seconds * rate) / samples));
		const file = new Uint8Array(frame.length * count);
		for (let place = 0; place < count; place++) file.set(frame, place * frame.length);
		return file;
	};
}
