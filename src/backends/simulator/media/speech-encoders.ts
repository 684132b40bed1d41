/** Samples to the sound files that the simulator writes, with the spoken text inside. */
import { Mp3Encoder } from "@breezystack/lamejs";
import { WaveFile } from "wavefile";
import { AiError } from "../../../errors.ts";
import type { SpeechInput } from "../../../tasks/audio.ts";
import type { Media } from "../../../tasks/media.ts";
import { joined, wavChunks } from "./riff.ts";
import { id3Tag, withInfo } from "./spoken-text.ts";
import { mark } from "./watermark.ts";

/** Made before there is a sound: what it will refuse, it refuses then. */
export interface SpeechEncoder {
	/** Hertz. */
	rate: number;
	/** One channel, 16 bits, at that rate. */
	file(samples: Int16Array, text: string): Media;
}

/** Kilobits a second that layer III has, by version of MPEG. */
const MPEG1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MPEG25 = MPEG2.slice(0, 8);
const from = (least: number, kilobits: number[]): number[] => kilobits.filter((kbps) => kbps >= least);
/** By sample rate. With fewer bits than these the encoder changes the sample rate on its own (observed). */
const MP3_KILOBITS = new Map([
	[8_000, MPEG25],
	[11_025, from(16, MPEG25)],
	[12_000, from(16, MPEG25)],
	[16_000, from(16, MPEG2)],
	[22_050, from(32, MPEG2)],
	[24_000, from(40, MPEG2)],
	[32_000, from(48, MPEG1)],
	[44_100, from(64, MPEG1)],
	[48_000, from(64, MPEG1)],
]);
/** First the usual one for speech; then lower for few bits, higher for many. */
const USUAL_MP3_RATES = [22_050, 16_000, 8_000, 44_100];
const USUAL_KILOBITS = 48;

export function mp3({ container, sample_rate, bit_rate }: SpeechInput): SpeechEncoder {
	if (container !== undefined && container !== "none")
		throw new AiError("invalidInput", `mp3 needs no container; it cannot be put in ${container}.`);
	if (sample_rate !== undefined && !MP3_KILOBITS.has(sample_rate))
		throw new AiError(
			"invalidInput",
			`sample_rate for mp3 must be one of ${[...MP3_KILOBITS.keys()].join(", ")}.`,
		);
	const choices = (sample_rate === undefined ? USUAL_MP3_RATES : [sample_rate]).map((rate) => ({
		rate,
		kilobits: MP3_KILOBITS.get(rate)?.find((kbps) =>
			bit_rate === undefined ? kbps >= USUAL_KILOBITS : kbps * 1000 === bit_rate,
		),
	}));
	const choice = choices.find(({ kilobits }) => kilobits !== undefined);
	if (choice?.kilobits === undefined) {
		const known = new Set(choices.flatMap(({ rate }) => MP3_KILOBITS.get(rate) ?? []));
		const bitRates = [...known].sort((a, b) => a - b).map((kbps) => kbps * 1000);
		throw new AiError(
			"invalidInput",
			`bit_rate for mp3 must be one of ${bitRates.join(", ")}${sample_rate === undefined ? "" : " at this sample_rate"}.`,
		);
	}
	const { rate, kilobits } = choice;
	return {
		rate,
		file(samples, text) {
			const encoder = new Mp3Encoder(1, rate, kilobits);
			const frames = [encoder.encodeBuffer(samples), encoder.flush()];
			return { bytes: joined([id3Tag(text), ...frames]), contentType: "audio/mpeg" };
		},
	};
}

const USUAL_RATE_HZ = { linear16: 24_000, mulaw: 8_000, alaw: 8_000 } as const;
const RAW_TYPES = { linear16: "audio/l16", mulaw: "audio/mulaw", alaw: "audio/alaw" } as const;
const LOWEST_RATE_HZ = 4_000;
const HIGHEST_RATE_HZ = 48_000;

export function wave(
	{ container = "wav", sample_rate }: SpeechInput,
	encoding: keyof typeof USUAL_RATE_HZ,
): SpeechEncoder {
	if (container === "ogg")
		throw new AiError("invalidInput", `${encoding} goes into container wav or none, not ogg.`);
	const rate = sample_rate ?? USUAL_RATE_HZ[encoding];
	if (!(Number.isInteger(rate) && rate >= LOWEST_RATE_HZ && rate <= HIGHEST_RATE_HZ))
		throw new AiError(
			"invalidInput",
			`sample_rate for ${encoding} must be a whole number from ${LOWEST_RATE_HZ} to ${HIGHEST_RATE_HZ}.`,
		);
	return {
		rate,
		file(samples, text) {
			const wav = new WaveFile();
			wav.fromScratch(1, rate, "16", samples);
			if (encoding === "mulaw") wav.toMuLaw();
			if (encoding === "alaw") wav.toALaw();
			const file = wav.toBuffer();
			const data = wavChunks(file)?.data ?? new Uint8Array();
			mark(data, encoding === "linear16" ? 2 : 1, text);
			if (container === "wav") return { bytes: withInfo(file, text), contentType: "audio/wav" };
			return { bytes: new Uint8Array(data), contentType: `${RAW_TYPES[encoding]};rate=${rate};channels=1` };
		},
	};
}
