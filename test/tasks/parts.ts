/** Models, images and audio files for the tests of tasks. */
import { concat } from "../../src/media/bytes.ts";
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";

export function modelOf(id: string): Model {
	const model = PRODUCT_MODELS.find((row) => row.id === id);
	if (!model) throw new Error(`${id} is not in the catalogue`);
	return model;
}

const ascii = (text: string): number[] => [...text].map((character) => character.charCodeAt(0));
const bigEndian = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
const littleEndian = (value: number, bytes: number): number[] =>
	Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) % 256);

/** The header of a PNG, which has its size. */
export const png = (width: number, height: number): Uint8Array<ArrayBuffer> =>
	Uint8Array.from([
		...[0x89, ...ascii("PNG\r\n\x1a\n")],
		...[...bigEndian(13), ...ascii("IHDR"), ...bigEndian(width), ...bigEndian(height), 8, 2, 0, 0, 0],
		...[0, 0, 0, 0],
	]);

interface WavSettings {
	rate?: number;
	channels?: number;
	bits?: number;
	format?: number;
	/** The declared value. `undefined`: the correct one. */
	dataSize?: number;
	bytesPerSecond?: number;
	/** Bytes of one sample of all channels. */
	blockBytes?: number;
	id?: "RIFF" | "RF64";
}

/** Silence with this number of bytes. */
export function wav(bytes: number, settings: WavSettings = {}): Uint8Array<ArrayBuffer> {
	const { rate = 16_000, channels = 1, bits = 16, format = 1, dataSize = bytes, id = "RIFF" } = settings;
	const frame = (channels * bits) / 8;
	const { bytesPerSecond = rate * frame, blockBytes = frame } = settings;
	const head = [
		...[...ascii(id), ...littleEndian(36 + bytes, 4), ...ascii("WAVE")],
		...[...ascii("LIST"), ...littleEndian(3, 4), 1, 2, 3, 0],
		...[...ascii("fmt "), ...littleEndian(16, 4), ...littleEndian(format, 2), ...littleEndian(channels, 2)],
		...[...littleEndian(rate, 4), ...littleEndian(bytesPerSecond, 4)],
		...[...littleEndian(blockBytes, 2), ...littleEndian(bits, 2)],
		...[...ascii("data"), ...littleEndian(dataSize, 4)],
	];
	const file = new Uint8Array(head.length + bytes);
	file.set(head);
	return file;
}

/** A chunk of a WAV file. */
export const chunk = (name: string, content: Uint8Array): Uint8Array<ArrayBuffer> =>
	Uint8Array.from([
		...[...ascii(name), ...littleEndian(content.length, 4), ...content],
		...(content.length % 2 ? [0] : []),
	]);

/** A file with further chunks. */
export const wavChunks = (file: Uint8Array, ...chunks: Uint8Array[]): Uint8Array<ArrayBuffer> =>
	concat([file, ...chunks]);

/** 32,000 bytes in the extensible format: 16 kHz, 16 bits, one channel. `format` is the number in its identifier, bytes 46 to 59 are its end. */
export const extensible = (
	format: number,
	validBits: number,
	bytesPerSecond = 32_000,
): Uint8Array<ArrayBuffer> => {
	const fields = [
		...[...littleEndian(0xfffe, 2), ...littleEndian(1, 2), ...littleEndian(16_000, 4)],
		...[...littleEndian(bytesPerSecond, 4), 2, 0, 16, 0, 22, 0, ...littleEndian(validBits, 2), 4, 0, 0, 0],
		...littleEndian(format, 2),
		...[0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71],
	];
	const head = [...ascii("RIFF"), ...littleEndian(32_060, 4), ...ascii("WAVE")];
	return concat([
		Uint8Array.from(head),
		chunk("fmt ", Uint8Array.from(fields)),
		chunk("data", new Uint8Array(32_000)),
	]);
};

/** Frames of silence, MPEG 1 layer III at 64 kbit/s and 44.1 kHz: 208 bytes and 1,152 samples each. */
export function mp3(frames: number): Uint8Array<ArrayBuffer> {
	const FRAME_BYTES = 208;
	const file = new Uint8Array(frames * FRAME_BYTES);
	for (let i = 0; i < frames; i++) file.set([0xff, 0xfb, 0x50, 0xc0], i * FRAME_BYTES);
	return file;
}
export const MP3_FRAME_SECONDS = 1152 / 44_100;
