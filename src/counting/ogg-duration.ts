/**
 * Computes the duration of an Ogg file (RFC 3533) from its first pages, which have the codec's sample rate, and from the
 * position on its last page. The pages between them are not read: an hour has ten thousand.
 */
import { hasTextAt } from "../media/types.ts";

const PAGE_MARK = "OggS";
const PAGE_HEAD_BYTES = 27;
const POSITION_AT = 6;
const SERIAL_AT = 14;
const SEGMENTS_AT = 26;
/** A page that starts a stream. These pages precede all others. */
const TYPE_AT = 5;
const FIRST_PAGE = 2;
/** A file with a video has some streams besides the audio. */
const MAX_STREAMS = 10;
/** A page has at most 65,307 bytes, and a page within a packet has no position. */
const TAIL_BYTES = 256 * 1024;

interface Codec {
	samplesPerSecond: number;
	/** Samples before the audio. */
	skipped?: number;
}

/** `undefined` for an unknown codec, and for a file whose last page belongs to another stream. */
export function oggSeconds(bytes: Uint8Array): number | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const stream = findAudio(bytes, view);
	if (!stream) return undefined;
	const { serial, samplesPerSecond, skipped = 0 } = stream;
	const samples = lastPosition(bytes, view, serial) - skipped;
	return samples > 0 && samplesPerSecond > 0 ? samples / samplesPerSecond : undefined;
}

function findAudio(bytes: Uint8Array, view: DataView): (Codec & { serial: number }) | undefined {
	let at = 0;
	for (let streams = 0; streams < MAX_STREAMS && at + PAGE_HEAD_BYTES <= bytes.length; streams++) {
		if (!hasTextAt(bytes, at, PAGE_MARK) || ((bytes[at + TYPE_AT] ?? 0) & FIRST_PAGE) === 0) return undefined;
		const packet = at + PAGE_HEAD_BYTES + (bytes[at + SEGMENTS_AT] ?? 0);
		const found = readCodec(bytes, view, packet);
		if (found) return { serial: view.getUint32(at + SERIAL_AT, true), ...found };
		at = packet + bytes.subarray(at + PAGE_HEAD_BYTES, packet).reduce((sum, length) => sum + length, 0);
	}
	return undefined;
}

/** Reads the first packet of a stream: RFC 7845, Vorbis I (4.2.2), the Speex manual (6.1), and FLAC to Ogg mapping. */
function readCodec(bytes: Uint8Array, view: DataView, at: number): Codec | undefined {
	const has = (mark: string, length: number): boolean =>
		hasTextAt(bytes, at, mark) && at + length <= bytes.length;
	if (has("OpusHead", 12)) return { samplesPerSecond: 48_000, skipped: view.getUint16(at + 10, true) };
	if (has("\x01vorbis", 16)) return { samplesPerSecond: view.getUint32(at + 12, true) };
	if (has("Speex   ", 40)) return { samplesPerSecond: view.getUint32(at + 36, true) };
	if (has("\x7fFLAC", 31)) return { samplesPerSecond: view.getUint32(at + 27) >>> 12 };
	return undefined;
}

/** Samples at the end of the last page that has a position. 0 if there is none. */
function lastPosition(bytes: Uint8Array, view: DataView, serial: number): number {
	const last = bytes.length - PAGE_HEAD_BYTES;
	for (let at = last; at >= Math.max(0, last - TAIL_BYTES); at--) {
		if (!hasTextAt(bytes, at, PAGE_MARK)) continue;
		if (view.getUint32(at + SERIAL_AT, true) !== serial) continue;
		const position = Number(view.getBigInt64(at + POSITION_AT, true));
		if (position >= 0) return position;
	}
	return 0;
}
