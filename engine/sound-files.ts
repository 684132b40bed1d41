/** Sound files of one channel: MP3, WAV, or samples without a header. */
import { createMp3Encoder } from "wasm-media-encoders";
import type { SoundFormat } from "./model.ts";

/** Bits per second, enough for speech. */
const MP3_KILOBITS = 64;
const HEADER_BYTES = 44;
const SAMPLE_BYTES = 2;
const LARGEST = 32_767;

/** `rate`: samples a second. Those beyond -1 and 1 are limited. */
export async function soundFile(
	samples: Float32Array,
	rate: number,
	format: SoundFormat,
): Promise<Uint8Array> {
	switch (format) {
		case "mp3":
			return mp3(samples, rate);
		case "wav":
			return Buffer.concat([wavHeader(samples.length, rate), linear16(samples)]);
		case "pcm":
			return linear16(samples);
	}
}

async function mp3(samples: Float32Array, rate: number): Promise<Uint8Array> {
	const encoder = await createMp3Encoder();
	encoder.configure({ sampleRate: rate, channels: 1, bitrate: MP3_KILOBITS });
	const most = Buffer.from(encoder.encode([samples]));
	return Buffer.concat([most, encoder.finalize()]);
}

function linear16(samples: Float32Array): Buffer {
	const bytes = Buffer.alloc(samples.length * SAMPLE_BYTES);
	for (const [at, sample] of samples.entries())
		bytes.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * LARGEST), at * SAMPLE_BYTES);
	return bytes;
}

function wavHeader(samples: number, rate: number): Buffer {
	const header = Buffer.alloc(HEADER_BYTES);
	const size = samples * SAMPLE_BYTES;
	header.write("RIFF", 0);
	header.writeUInt32LE(HEADER_BYTES - 8 + size, 4);
	header.write("WAVEfmt ", 8);
	header.writeUInt32LE(16, 16);
	header.writeUInt16LE(1, 20);
	header.writeUInt16LE(1, 22);
	header.writeUInt32LE(rate, 24);
	header.writeUInt32LE(rate * SAMPLE_BYTES, 28);
	header.writeUInt16LE(SAMPLE_BYTES, 32);
	header.writeUInt16LE(8 * SAMPLE_BYTES, 34);
	header.write("data", 36);
	header.writeUInt32LE(size, 40);
	return header;
}
