/** Small media files. */
import { crc32, deflateSync } from "node:zlib";

const chunk = (type: string, content: Buffer): Buffer => {
	const body = Buffer.concat([Buffer.from(type), content]);
	const ends = Buffer.alloc(8);
	ends.writeUInt32BE(content.length, 0);
	ends.writeUInt32BE(crc32(body), 4);
	return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
};

export const redImage = (): Uint8Array<ArrayBuffer> => plainImage([255, 0, 0]);

/** A PNG of 8 by 8 pixels of one colour: red, green and blue, to 255. */
export function plainImage(colour: readonly [number, number, number]): Uint8Array<ArrayBuffer> {
	const header = Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 8, 2, 0, 0, 0]);
	const row = Buffer.from([0, ...Array.from({ length: 8 }, () => colour).flat()]);
	const rows = deflateSync(Buffer.concat(Array.from({ length: 8 }, () => row)));
	const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
	return Uint8Array.from(
		Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]),
	);
}

/** A WAV file of 16 kHz. */
export function silence(seconds: number): Uint8Array<ArrayBuffer> {
	const rate = 16_000;
	const size = seconds * rate * 2;
	const header = Buffer.alloc(44);
	header.write("RIFF", 0);
	header.writeUInt32LE(36 + size, 4);
	header.write("WAVEfmt ", 8);
	header.writeUInt32LE(16, 16);
	header.writeUInt16LE(1, 20);
	header.writeUInt16LE(1, 22);
	header.writeUInt32LE(rate, 24);
	header.writeUInt32LE(rate * 2, 28);
	header.writeUInt16LE(2, 32);
	header.writeUInt16LE(16, 34);
	header.write("data", 36);
	header.writeUInt32LE(size, 40);
	return Uint8Array.from(Buffer.concat([header, Buffer.alloc(size)]));
}
