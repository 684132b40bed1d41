/**
 * Recordings as the samples that models of speech read: one channel of 16 kHz. WAV is read here
 * (https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html), and other formats by `ffmpeg`, if it is on `PATH`.
 */
import { spawn } from "node:child_process";
import { EngineFailure } from "./failure.ts";

export const SAMPLE_RATE = 16_000;
/** Two hours. */
const MAX_SAMPLES = 2 * 60 * 60 * SAMPLE_RATE;

const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_EXTENSIBLE = 0xfffe;

export async function samplesOf(bytes: Uint8Array): Promise<Float32Array> {
	const samples = isWav(bytes) ? (readWav(bytes) ?? (await convert(bytes))) : await convert(bytes);
	if (samples.length === 0) throw new EngineFailure("invalid_input", "The recording has no samples");
	if (samples.length > MAX_SAMPLES)
		throw new EngineFailure("invalid_input", "The recording is longer than 2 hours");
	return samples;
}

const textAt = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));

const isWav = (bytes: Uint8Array): boolean => textAt(bytes, 0) === "RIFF" && textAt(bytes, 8) === "WAVE";

interface WavFormat {
	format: number;
	channels: number;
	rate: number;
	bits: number;
}

/** `undefined`: the samples have another encoding than PCM or floating-point numbers. */
function readWav(bytes: Uint8Array): Float32Array | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let format: WavFormat | undefined;
	for (let at = 12; at + 8 <= bytes.length; ) {
		const name = textAt(bytes, at);
		const start = at + 8;
		const size = Math.min(view.getUint32(at + 4, true), bytes.length - start);
		if (name === "fmt " && size >= 16) {
			const kind = view.getUint16(start, true);
			format = {
				format: kind === FORMAT_EXTENSIBLE && size >= 26 ? view.getUint16(start + 24, true) : kind,
				channels: view.getUint16(start + 2, true),
				rate: view.getUint32(start + 4, true),
				bits: view.getUint16(start + 14, true),
			};
		} else if (name === "data" && format) {
			return readSamples(new DataView(view.buffer, view.byteOffset + start, size), format);
		}
		at = start + size + (size % 2);
	}
	throw new EngineFailure("invalid_input", "The WAV file has no samples");
}

function readSamples(view: DataView, { format, channels, rate, bits }: WavFormat): Float32Array | undefined {
	const read = readerOf(format, bits);
	if (!read || channels === 0 || rate === 0) return undefined;
	const width = bits / 8;
	const frames = Math.floor(view.byteLength / (width * channels));
	const mono = new Float32Array(frames);
	for (let frame = 0; frame < frames; frame++) {
		let sum = 0;
		for (let channel = 0; channel < channels; channel++)
			sum += read(view, (frame * channels + channel) * width);
		mono[frame] = sum / channels;
	}
	return resampled(mono, rate, SAMPLE_RATE);
}

type Reader = (view: DataView, at: number) => number;

function readerOf(format: number, bits: number): Reader | undefined {
	if (format === FORMAT_FLOAT && bits === 32) return (view, at) => view.getFloat32(at, true);
	if (format !== FORMAT_PCM) return undefined;
	switch (bits) {
		case 8:
			return (view, at) => (view.getUint8(at) - 128) / 128;
		case 16:
			return (view, at) => view.getInt16(at, true) / 32_768;
		case 24:
			return (view, at) => ((view.getInt8(at + 2) << 16) | view.getUint16(at, true)) / 8_388_608;
		case 32:
			return (view, at) => view.getInt32(at, true) / 2_147_483_648;
		default:
			return undefined;
	}
}

/** Each new sample is the mean of the old ones that it covers, or lies between two of them. */
export function resampled(samples: Float32Array, from: number, to: number): Float32Array {
	if (from === to) return samples;
	const step = from / to;
	const length = Math.floor(samples.length / step);
	return Float32Array.from({ length }, (_, index) => {
		const start = index * step;
		if (step <= 1) {
			const left = Math.floor(start);
			const share = start - left;
			return (samples[left] ?? 0) * (1 - share) + (samples[left + 1] ?? samples[left] ?? 0) * share;
		}
		const first = Math.floor(start);
		const end = Math.min(Math.max(Math.floor(start + step), first + 1), samples.length);
		let sum = 0;
		for (let at = first; at < end; at++) sum += samples[at] ?? 0;
		return sum / (end - first);
	});
}

function convert(bytes: Uint8Array): Promise<Float32Array> {
	const child = spawn(
		"ffmpeg",
		["-v", "error", "-protocol_whitelist", "pipe", "-i", "pipe:0", "-f", "f32le", "-ac", "1"].concat([
			...["-ar", String(SAMPLE_RATE), "-fs", String(MAX_SAMPLES * 4), "pipe:1"],
		]),
		{ stdio: ["pipe", "pipe", "ignore"] },
	);
	return new Promise((resolve, reject) => {
		const pieces: Buffer[] = [];
		child.once("error", () =>
			reject(
				new EngineFailure(
					"invalid_input",
					"The recording is no WAV file of PCM samples: send one, or install ffmpeg, which reads the other formats",
				),
			),
		);
		child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
		// It may end before it has read all.
		child.stdin.on("error", () => {});
		child.once("close", (code) => {
			const all = Buffer.concat(pieces);
			if (code !== 0 || all.length < 4)
				return reject(new EngineFailure("invalid_input", "ffmpeg cannot decode the recording"));
			const copy = Uint8Array.from(all.subarray(0, all.length - (all.length % 4)));
			resolve(new Float32Array(copy.buffer));
		});
		child.stdin.end(bytes);
	});
}
