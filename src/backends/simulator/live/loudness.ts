/** Computes the loudness of consecutive windows from samples that arrive in pieces of any size. */
import type { LiveTranscriptionInput } from "../../../tasks/live-transcription/types.ts";

export type Samples = NonNullable<LiveTranscriptionInput["samples"]>;

const WINDOWS_A_SECOND = 50;

interface SampleReader {
	bytes: number;
	/** -1 to 1. */
	read(view: DataView, offset: number): number;
}

const LINEAR16: SampleReader = { bytes: 2, read: (view, offset) => view.getInt16(offset, true) / 0x8000 };

/** G.711: sign, exponent and mantissa, all bits inverted. */
const MULAW_BIAS = 0x84;
const MULAW: SampleReader = {
	bytes: 1,
	read(view, offset) {
		const code = ~view.getUint8(offset);
		const size = ((((code & 0x0f) << 3) + MULAW_BIAS) << ((code >> 4) & 7)) - MULAW_BIAS;
		return (code & 0x80 ? -size : size) / 0x8000;
	},
};

const READERS: Partial<Record<Samples["encoding"], SampleReader>> = { linear16: LINEAR16, mulaw: MULAW };

export const ENCODINGS = Object.keys(READERS);

export class Loudness {
	readonly windowSeconds: number;
	readonly #reader: SampleReader;
	readonly #channels: number;
	readonly #frameBytes: number;
	readonly #windowFrames: number;
	readonly #rate: number;
	/** The bytes of an incomplete frame. */
	#remainder: Uint8Array = new Uint8Array();
	#bytes = 0;
	#frames = 0;
	#sum = 0;
	#squares = 0;

	private constructor(reader: SampleReader, { sample_rate, channels }: Samples) {
		this.#reader = reader;
		this.#channels = channels;
		this.#frameBytes = reader.bytes * channels;
		this.#windowFrames = Math.max(1, Math.round(sample_rate / WINDOWS_A_SECOND));
		this.#rate = sample_rate;
		this.windowSeconds = this.#windowFrames / sample_rate;
	}

	/** Undefined for an unsupported encoding. */
	static of(samples: Samples): Loudness | undefined {
		const reader = READERS[samples.encoding];
		return reader && new Loudness(reader, samples);
	}

	/** The duration of all audio so far, in seconds. */
	get duration(): number {
		return this.#bytes / this.#frameBytes / this.#rate;
	}

	/** For each window that the bytes complete: root mean square around the mean, 0 to 1, of all channels mixed. */
	*process(bytes: Uint8Array): Generator<number> {
		this.#bytes += bytes.length;
		const all = this.#joined(bytes);
		const view = new DataView(all.buffer, all.byteOffset, all.length);
		const end = all.length - (all.length % this.#frameBytes);
		this.#remainder = all.slice(end);
		for (let offset = 0; offset < end; offset += this.#frameBytes) {
			let value = 0;
			for (let at = offset; at < offset + this.#frameBytes; at += this.#reader.bytes)
				value += this.#reader.read(view, at);
			value /= this.#channels;
			this.#sum += value;
			this.#squares += value * value;
			if (++this.#frames === this.#windowFrames) yield this.#closeWindow();
		}
	}

	#closeWindow(): number {
		// The constant offset of a microphone is removed.
		const mean = this.#sum / this.#frames;
		const power = Math.max(0, this.#squares / this.#frames - mean * mean);
		this.#frames = this.#sum = this.#squares = 0;
		return Math.sqrt(power);
	}

	#joined(bytes: Uint8Array): Uint8Array {
		if (this.#remainder.length === 0) return bytes;
		const all = new Uint8Array(this.#remainder.length + bytes.length);
		all.set(this.#remainder);
		all.set(bytes, this.#remainder.length);
		return all;
	}
}
