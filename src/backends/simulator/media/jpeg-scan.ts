/** What a JPEG says of itself, read marker by marker, without decoding it (ITU-T T.81, annex B). */

export interface JpegFacts {
	width: number;
	height: number;
	/** Passes over the whole image that decoding will make. */
	scans: number;
	/** A small JPEG of the same image, as cameras put it into their Exif block. */
	preview?: Uint8Array;
}

const START_OF_FRAME = new Set([0xc0, 0xc1, 0xc2]);
const START_OF_SCAN = 0xda;
const EXIF_BLOCK = 0xe1;
const END_OF_IMAGE = 0xd9;
/** Markers without a length: TEM and RST0 to RST7. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);

/** Undefined where there is not exactly one frame, baseline or progressive. */
export function readJpegFacts(bytes: Uint8Array): JpegFacts | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let size: { width: number; height: number } | undefined;
	let scans = 0;
	let preview: Uint8Array | undefined;
	let offset = 2;
	while (offset + 3 < bytes.length) {
		const marker = view.getUint8(offset + 1);
		// Outside a marker (coded data), at a stuffed zero, or in fill bytes: look on.
		if (view.getUint8(offset) !== 0xff || marker === 0 || marker === 0xff) {
			const next = bytes.indexOf(0xff, offset + 1);
			if (next === -1) break;
			offset = next;
			continue;
		}
		if (marker === END_OF_IMAGE) break;
		if (isBare(marker)) {
			offset += 2;
			continue;
		}
		if (START_OF_FRAME.has(marker) && offset + 8 < bytes.length) {
			// A second frame would be decoded at its own size, which nobody has checked.
			if (size) return;
			size = { height: view.getUint16(offset + 5), width: view.getUint16(offset + 7) };
		}
		if (marker === START_OF_SCAN) scans++;
		const end = offset + 2 + Math.max(2, view.getUint16(offset + 2));
		if (marker === EXIF_BLOCK) preview ??= previewIn(bytes.subarray(offset, end));
		offset = end;
	}
	return size && { ...size, scans, ...(preview && { preview }) };
}

function previewIn(block: Uint8Array): Uint8Array | undefined {
	const start = block.findIndex((byte, i) => byte === 0xff && block[i + 1] === 0xd8 && block[i + 2] === 0xff);
	return start === -1 ? undefined : block.subarray(start);
}
