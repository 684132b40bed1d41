/** Small valid files. */
import { encode as encodePng } from "fast-png";
import { encode as encodeJpeg } from "jpeg-js";

type Bytes = Uint8Array<ArrayBuffer>;

/** A grey image. */
export const png = (width: number, height: number): Bytes =>
	new Uint8Array(encodePng({ width, height, data: new Uint8Array(width * height).fill(128), channels: 1 }));

export const jpeg = (width: number, height: number): Bytes =>
	new Uint8Array(encodeJpeg({ width, height, data: new Uint8Array(width * height * 4).fill(200) }, 50).data);

/** A tenth of a second of silence: 8-bit samples at 8 kHz behind a 44-byte header. */
export function wav(): Bytes {
	const samples = 800;
	const view = new DataView(new ArrayBuffer(44 + samples));
	const text = (offset: number, value: string): void =>
		[...value].forEach((character, at) => {
			view.setUint8(offset + at, character.charCodeAt(0));
		});
	text(0, "RIFF");
	view.setUint32(4, 36 + samples, true);
	text(8, "WAVEfmt ");
	view.setUint32(16, 16, true);
	view.setUint16(20, 1, true);
	view.setUint16(22, 1, true);
	view.setUint32(24, 8000, true);
	view.setUint32(28, 8000, true);
	view.setUint16(32, 1, true);
	view.setUint16(34, 8, true);
	text(36, "data");
	view.setUint32(40, samples, true);
	const bytes = new Uint8Array(view.buffer);
	return bytes.fill(128, 44);
}

export const latin1 = (text: string): Bytes => Uint8Array.from(text, (character) => character.charCodeAt(0));

export const binaryString = (bytes: Uint8Array): string =>
	Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

export const base64 = (bytes: Uint8Array): string => btoa(binaryString(bytes));
