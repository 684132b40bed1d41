/**
 * How long sound is that is not compressed: samples in a WAV file (Multimedia Programming Interface and Data
 * Specifications 1.0), and samples without a file around them, whose media type says how they are written
 * (`audio/pcm`, `audio/l16;rate=16000;channels=1`, `audio/mulaw`, …).
 */
import type { TurnInput } from "../tasks/audio.ts";

const CHUNK_HEAD_BYTES = 8;
const FILE_HEAD_BYTES = 12;
/** The ones that matter come among the first few. */
const MAX_CHUNKS = 1_000;
const FORMAT_BYTES = 16;
/** PCM, float, A-law, μ-law, and the format that says which of them elsewhere. */
const FIXED_WIDTH = new Set([1, 3, 6, 7, 0xfffe]);

export const isWav = (bytes: Uint8Array): boolean =>
	(textAt(bytes, 0) === "RIFF" || textAt(bytes, 0) === "RF64") && textAt(bytes, 8) === "WAVE";

/** `undefined` where the file is none, or says impossible things. */
export function wavSeconds(bytes: Uint8Array): number | undefined {
	if (!isWav(bytes)) return undefined;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let bytesPerSecond = 0;
	let at = FILE_HEAD_BYTES;
	for (let chunks = 0; chunks < MAX_CHUNKS && at + CHUNK_HEAD_BYTES <= bytes.length; chunks++) {
		const content = at + CHUNK_HEAD_BYTES;
		const size = view.getUint32(at + 4, true);
		const name = textAt(bytes, at);
		if (name === "fmt " && content + FORMAT_BYTES <= bytes.length) bytesPerSecond = rateAt(view, content);
		// A size that is too large, or 0, as streaming writers leave it, means the rest: decoders read that, too.
		if (name === "data") {
			const rest = bytes.length - content;
			return bytesPerSecond > 0 ? Math.min(size || rest, rest) / bytesPerSecond : undefined;
		}
		at = content + size + (size % 2);
	}
	return undefined;
}

function rateAt(view: DataView, at: number): number {
	const [format, channels] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
	const [samplesPerSecond, bits] = [view.getUint32(at + 4, true), view.getUint16(at + 14, true)];
	// Decoders go by the samples; the rate in bytes may say anything, but compressed formats have no other.
	return FIXED_WIDTH.has(format) ? (samplesPerSecond * channels * bits) / 8 : view.getUint32(at + 8, true);
}

const textAt = (bytes: Uint8Array, offset: number): string =>
	String.fromCharCode(...bytes.subarray(offset, offset + 4));

const USUAL_RATE_HZ = 16_000;
const TELEPHONE_RATE_HZ = 8_000;
const MOST_RATE_HZ = 384_000;
const MOST_CHANNELS = 32;

/** Bits of a sample, and how many there are of a channel in a second. */
const LINEAR = { bits: 16, rate: USUAL_RATE_HZ };
const COMPANDED = { bits: 8, rate: TELEPHONE_RATE_HZ };
const RAW_TYPES = new Map([
	["pcm", LINEAR],
	["raw", LINEAR],
	["l16", LINEAR],
	["linear16", LINEAR],
	["mulaw", COMPANDED],
	["pcmu", COMPANDED],
	["alaw", COMPANDED],
	["pcma", COMPANDED],
]);

/** Of bare samples; `undefined` for any other media type. */
export function rawBytesPerSecond(contentType: string | undefined): number | undefined {
	const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
	const raw = RAW_TYPES.get(type.trim().replace(/^audio\/(x-)?/, ""));
	if (!raw) return undefined;
	const setting = (most: number, ...names: string[]): number | undefined => {
		for (const parameter of parameters) {
			const [name = "", value = ""] = parameter.split("=");
			const number = Number(value.trim().replaceAll('"', ""));
			if (names.includes(name.trim()) && Number.isInteger(number) && number >= 1 && number <= most)
				return number;
		}
		return undefined;
	};
	const rate = setting(MOST_RATE_HZ, "rate", "sample_rate", "samplerate") ?? raw.rate;
	return (rate * (setting(MOST_CHANNELS, "channels") ?? 1) * raw.bits) / 8;
}

/** Turn detection's samples: one channel at 16 kHz. */
const DTYPE_BYTES: Record<NonNullable<TurnInput["dtype"]>, number> = { uint8: 1, float32: 4, float64: 8 };

export const dtypeBytesPerSecond = (dtype: NonNullable<TurnInput["dtype"]>): number =>
	DTYPE_BYTES[dtype] * USUAL_RATE_HZ;
