/**
 * Computes the duration of uncompressed audio: WAV files (Multimedia Programming Interface and Data Specifications 1.0),
 * and raw samples whose media type declares the format (`audio/pcm`, `audio/l16;rate=16000;channels=1`, `audio/mulaw`, …).
 */
import { hasTextAt } from "../media/types.ts";

const CHUNK_HEAD_BYTES = 8;
const FILE_HEAD_BYTES = 12;
/** The names `fmt ` and `data`. A file may have a chunk for each eight of its bytes, so names are compared as numbers. */
const FORMAT_CHUNK = 0x666d7420;
const DATA_CHUNK = 0x64617461;
const FORMAT_BYTES = 16;
/** Has the number of another format as the beginning of an identifier, whose remainder is {@link SUBFORMAT_END}. */
const EXTENSIBLE = 0xfffe;
const EXTENSIBLE_BYTES = 40;
const SUBFORMAT_END = "\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71";
/** The bits per sample of formats of a fixed width: PCM, float, A-law and μ-law. */
const FIXED_WIDTHS = new Map([
	[1, [8, 16, 24, 32, 64]],
	[3, [32, 64]],
	[6, [8]],
	[7, [8]],
]);

export const isWav = (bytes: Uint8Array): boolean =>
	(hasTextAt(bytes, 0, "RIFF") || hasTextAt(bytes, 0, "RF64")) && hasTextAt(bytes, 8, "WAVE");

/**
 * The samples of each channel in a block of a compressed format: GSM 6.10, and ADPCM of Microsoft and IMA, whose blocks begin with the state
 * of each channel and have half a byte for each further sample. IMA's samples may have fewer bits, whose blocks are not known here.
 */
const BLOCK_SAMPLES = new Map<number, (bytesOfChannel: number, bits: number) => number>([
	[2, (bytes, bits) => (bits === 4 ? (bytes - 7) * 2 + 2 : 0)],
	[0x11, (bytes, bits) => (bits === 4 ? (bytes - 4) * 2 + 1 : 0)],
	[0x31, (bytes) => (bytes === 65 ? 320 : 0)],
]);

interface WavFormat {
	/** Absent: only the file declares it, and it may be false. */
	bytesPerSecond?: number;
	/** Otherwise the format is compressed. */
	isFixedWidth: boolean;
	/** Not all bits of a sample are valid, as in files of 24 bits in 32. Some decoders use the number of the valid ones as the width. */
	isPartlyValid: boolean;
}

interface Wav extends WavFormat {
	/** All chunks with sound. */
	dataBytes: number;
	/** From the first of them to the end of the file. */
	bytesFromData: number;
}

/** Seconds. `undefined` if the file is not WAV, is invalid, or has a compressed format whose blocks are not known. */
export function wavSeconds(bytes: Uint8Array): number | undefined {
	const wav = readWav(bytes);
	return wav?.bytesPerSecond && wav.dataBytes / wav.bytesPerSecond;
}

/**
 * `bytes`: the beginning of a file of `fileBytes`. `undefined` if the file is not WAV, is invalid, or has chunks that do not begin in these
 * bytes.
 */
export function readWav(bytes: Uint8Array, fileBytes = bytes.length): Wav | undefined {
	if (!isWav(bytes)) return undefined;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let format: WavFormat | undefined;
	let dataAt: number | undefined;
	let dataBytes = 0;
	let at = FILE_HEAD_BYTES;
	while (at + CHUNK_HEAD_BYTES <= bytes.length) {
		const content = at + CHUNK_HEAD_BYTES;
		const name = view.getUint32(at);
		let size = view.getUint32(at + 4, true);
		if (name === FORMAT_CHUNK) {
			// Decoders differ in which of two they use.
			if (format) return undefined;
			format = formatAt(view, content, size);
			if (!format) return undefined;
		} else if (name === DATA_CHUNK) {
			const available = fileBytes - content;
			// Streaming writers leave a size of 0 or one that is too large. Decoders then read to the end of the file.
			size = Math.min(size || available, available);
			dataAt ??= content;
			dataBytes += size;
		}
		at = content + size + (size % 2);
	}
	if (!format || dataAt === undefined || at + CHUNK_HEAD_BYTES <= fileBytes) return undefined;
	return { ...format, dataBytes, bytesFromData: fileBytes - dataAt };
}

function formatAt(view: DataView, at: number, size: number): WavFormat | undefined {
	if (at + Math.min(size, EXTENSIBLE_BYTES) > view.byteLength || size < FORMAT_BYTES) return undefined;
	const [declared, channels] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
	const [samplesPerSecond, frameBytes] = [view.getUint32(at + 4, true), view.getUint16(at + 12, true)];
	const bits = view.getUint16(at + 14, true);
	const number = declared === EXTENSIBLE ? subformatAt(view, at, size) : declared;
	if (number === undefined) return undefined;
	const widths = FIXED_WIDTHS.get(number);
	// The declared rate in bytes may be wrong: decoders use the sample rate.
	const isPossible = channels > 0 && channels <= MAX_CHANNELS && samplesPerSecond <= MAX_RATE_HZ;
	if (!widths) {
		const blockSamples = BLOCK_SAMPLES.get(number)?.(frameBytes / channels, bits) ?? 0;
		const bytesPerSecond = (samplesPerSecond * frameBytes) / blockSamples;
		const isKnown = isPossible && blockSamples > 0 && bytesPerSecond > 0;
		return { isFixedWidth: false, isPartlyValid: false, ...(isKnown && { bytesPerSecond }) };
	}
	const bytesPerSecond = samplesPerSecond * frameBytes;
	// Decoders differ in what they use of fields that contradict each other.
	const isValid = isPossible && widths.includes(bits) && frameBytes === (channels * bits) / 8;
	const validBits = declared === EXTENSIBLE ? view.getUint16(at + 18, true) : bits;
	const isPartlyValid = validBits !== 0 && validBits !== bits;
	return isValid && bytesPerSecond > 0 ? { bytesPerSecond, isFixedWidth: true, isPartlyValid } : undefined;
}

/** The number of the format. `undefined` if it has none. */
function subformatAt(view: DataView, at: number, size: number): number | undefined {
	if (size < EXTENSIBLE_BYTES) return undefined;
	const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
	return hasTextAt(bytes, at + 26, SUBFORMAT_END) ? view.getUint16(at + 24, true) : undefined;
}

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
