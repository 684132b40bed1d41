/**
 * Computes the duration of uncompressed audio: WAV files (Multimedia Programming Interface and Data Specifications 1.0),
 * and raw samples whose media type declares the format (`audio/pcm`, `audio/l16;rate=16000;channels=1`, `audio/mulaw`, …).
 */

const CHUNK_HEAD_BYTES = 8;
const FILE_HEAD_BYTES = 12;
/** The relevant chunks are among the first few. */
const MAX_CHUNKS = 1_000;
const FORMAT_BYTES = 16;
/** PCM, float, A-law, μ-law, and the extensible format, which declares one of them in another field. */
const FIXED_WIDTH = new Set([1, 3, 6, 7, 0xfffe]);

export const isWav = (bytes: Uint8Array): boolean =>
	(textAt(bytes, 0) === "RIFF" || textAt(bytes, 0) === "RF64") && textAt(bytes, 8) === "WAVE";

/** `undefined` if the file is not WAV or is invalid. */
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
		// Streaming writers leave a size of 0 or one that is too large. Decoders then read to the end of the file.
		if (name === "data") {
			const available = bytes.length - content;
			return bytesPerSecond > 0 ? Math.min(size || available, available) / bytesPerSecond : undefined;
		}
		at = content + size + (size % 2);
	}
	return undefined;
}

function rateAt(view: DataView, at: number): number {
	const [format, channels] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
	const [samplesPerSecond, bits] = [view.getUint32(at + 4, true), view.getUint16(at + 14, true)];
	// Decoders use the sample rate; the byte rate may be wrong, but compressed formats have no other rate.
	return FIXED_WIDTH.has(format) ? (samplesPerSecond * channels * bits) / 8 : view.getUint32(at + 8, true);
}

const textAt = (bytes: Uint8Array, offset: number): string =>
	String.fromCharCode(...bytes.subarray(offset, offset + 4));

const DEFAULT_RATE_HZ = 16_000;
const TELEPHONE_RATE_HZ = 8_000;
const MAX_RATE_HZ = 384_000;
const MAX_CHANNELS = 32;

/** Bits per sample, and samples per second and channel. */
const LINEAR = { bits: 16, rate: DEFAULT_RATE_HZ };
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

/** Bytes per second of raw samples; `undefined` for any other media type. */
export function rawBytesPerSecond(contentType: string | undefined): number | undefined {
	const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
	const raw = RAW_TYPES.get(type.trim().replace(/^audio\/(x-)?/, ""));
	if (!raw) return undefined;
	const setting = (max: number, ...names: string[]): number | undefined => {
		for (const parameter of parameters) {
			const [name = "", value = ""] = parameter.split("=");
			const number = Number(value.trim().replaceAll('"', ""));
			if (names.includes(name.trim()) && Number.isInteger(number) && number >= 1 && number <= max)
				return number;
		}
		return undefined;
	};
	const rate = setting(MAX_RATE_HZ, "rate", "sample_rate", "samplerate") ?? raw.rate;
	return (rate * (setting(MAX_CHANNELS, "channels") ?? 1) * raw.bits) / 8;
}

/** Formats of raw samples without a media type: one channel at 16 kHz. */
export type SampleType = "uint8" | "float32" | "float64";

const SAMPLE_BYTES: Record<SampleType, number> = { uint8: 1, float32: 4, float64: 8 };

export const dtypeBytesPerSecond = (dtype: SampleType): number => SAMPLE_BYTES[dtype] * DEFAULT_RATE_HZ;
