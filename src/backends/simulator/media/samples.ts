/**
 * Sound as numbers: WAV files, and samples without a file around them.
 *
 * The library that decodes WAV follows lists within lists at exponential cost and trusts the count of cue points. So
 * it never sees a caller's file, only its format and its last samples, in a file of our own.
 */
import { WaveFile } from "wavefile";
import { ascii, isWav, joined, riffChunk, wavChunks } from "./riff.ts";

const LEAST_FORMAT_BYTES = 16;
/** WAVE_FORMAT_EXTENSIBLE, the longest that is known. */
const MOST_FORMAT_BYTES = 40;
const MOST_CHANNELS = 32;
const MOST_RATE_HZ = 384_000;
const MOST_BYTES = 8 * 1024 * 1024;

/** Full scale by the library's names of sample formats. Others are not decoded. */
const FULL_SCALE: Record<string, number> = {
	"8": 2 ** 7,
	"16": 2 ** 15,
	"24": 2 ** 23,
	"32": 2 ** 31,
	"32f": 1,
	"64": 1,
};
/** Far beyond full scale: some senders write 16-bit numbers as floats. */
const MOST_VALUE = 2 ** 31;

export interface Samples {
	/** Channels interleaved; silence is 0, full scale 1. */
	values: Float64Array;
	/** Values, of all channels, in a second. */
	perSecond: number;
}

/** Format tags of `fmt ` (RFC 2361). */
export const SAMPLE_CODES = { pcm: 1, float: 3, alaw: 6, mulaw: 7 } as const;

/** How samples without a header are written. Little-endian. */
export interface RawFormat {
	code: keyof typeof SAMPLE_CODES;
	bits: 8 | 16 | 32 | 64;
	/** Hertz. */
	rate: number;
	channels: number;
}

/** The last `seconds` of a WAV file, or of raw samples. Undefined, or an exception, where they cannot be decoded. */
export function lastSamples(bytes: Uint8Array, seconds: number, raw?: RawFormat): Samples | undefined {
	if (!isWav(bytes)) return raw && decode(formatOf(raw), bytes, seconds);
	const chunks = wavChunks(bytes);
	return chunks && decode(chunks.format.slice(0, MOST_FORMAT_BYTES), chunks.data, seconds);
}

function formatOf({ code, bits, rate, channels }: RawFormat): Uint8Array<ArrayBuffer> {
	const format = new Uint8Array(LEAST_FORMAT_BYTES);
	const view = new DataView(format.buffer);
	const frameBytes = (channels * bits) / 8;
	view.setUint16(0, SAMPLE_CODES[code], true);
	view.setUint16(2, channels, true);
	view.setUint32(4, rate, true);
	view.setUint32(8, rate * frameBytes, true);
	view.setUint16(12, frameBytes, true);
	view.setUint16(14, bits, true);
	return format;
}

function decode(format: Uint8Array, data: Uint8Array, seconds: number): Samples | undefined {
	if (format.length < LEAST_FORMAT_BYTES) return;
	const view = new DataView(format.buffer, format.byteOffset, format.byteLength);
	const channels = view.getUint16(2, true);
	const rate = view.getUint32(4, true);
	const frameBytes = view.getUint16(12, true);
	if (channels < 1 || channels > MOST_CHANNELS || rate < 1 || rate > MOST_RATE_HZ || frameBytes < 1) return;
	const frames = Math.floor(data.length / frameBytes);
	const kept = Math.min(frames, Math.ceil(seconds * rate), Math.floor(MOST_BYTES / frameBytes));
	const tail = data.subarray((frames - kept) * frameBytes, frames * frameBytes);

	const chunks = [ascii("WAVE"), riffChunk("fmt ", format), riffChunk("data", tail)];
	const wav = new WaveFile(riffChunk("RIFF", joined(chunks)));
	if (wav.bitDepth === "4") wav.fromIMAADPCM();
	if (wav.bitDepth === "8a") wav.fromALaw();
	if (wav.bitDepth === "8m") wav.fromMuLaw();
	const fullScale = FULL_SCALE[wav.bitDepth];
	if (fullScale === undefined) return;
	// 8-bit samples are unsigned.
	const silence = wav.bitDepth === "8" ? fullScale : 0;
	const values = wav.getSamples(true).map((sample) => {
		const value = (sample - silence) / fullScale;
		return Number.isNaN(value) ? 0 : Math.max(-MOST_VALUE, Math.min(MOST_VALUE, value));
	});
	return { values, perSecond: rate * channels };
}
