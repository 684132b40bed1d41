/** Chunks of RIFF files, of which WAV is one (Multimedia Programming Interface and Data Specifications 1.0). */

const FRAME_BYTES = 8;
const HEADER_BYTES = 12;
/** The relevant chunks are among the first ones. */
const MAX_CHUNKS = 1_000;

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let offset = 0;
	for (const part of parts) {
		bytes.set(part, offset);
		offset += part.length;
	}
	return bytes;
}

export const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Name, size, content, and a byte of padding: chunks begin at even places. */
export function riffChunk(id: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
	const size = new Uint8Array(4);
	new DataView(size.buffer).setUint32(0, content.length, true);
	return joined([ascii(id), size, content, new Uint8Array(content.length % 2)]);
}

const textAt = (bytes: Uint8Array, offset: number): string =>
	String.fromCharCode(...bytes.subarray(offset, offset + 4));

export const isWav = (bytes: Uint8Array): boolean =>
	textAt(bytes, 0) === "RIFF" && textAt(bytes, 8) === "WAVE";

interface WavChunks {
	format: Uint8Array;
	data: Uint8Array;
}

/** The first `fmt ` and the first `data`; a size that is too large, as streaming writers leave it, means the remainder. */
export function wavChunks(bytes: Uint8Array): WavChunks | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let format: Uint8Array | undefined;
	let data: Uint8Array | undefined;
	let offset = HEADER_BYTES;
	for (let chunks = 0; chunks < MAX_CHUNKS && offset + FRAME_BYTES <= bytes.length; chunks++) {
		const id = textAt(bytes, offset);
		const size = view.getUint32(offset + 4, true);
		const content = bytes.subarray(offset + FRAME_BYTES, offset + FRAME_BYTES + size);
		if (id === "fmt ") format ??= content;
		if (id === "data") data ??= content;
		offset += FRAME_BYTES + size + (size % 2);
	}
	return format && data && { format, data };
}
