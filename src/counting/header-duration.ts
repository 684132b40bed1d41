/** Reads the duration of FLAC (RFC 9639) and AIFF (Apple, Audio Interchange File Format 1.3) from their headers. */
import { hasTextAt } from "../media/types.ts";

/** The first metadata block follows the mark `fLaC` and its own header, and is always STREAMINFO. */
const STREAMINFO_AT = 8;
const STREAMINFO_BYTES = 34;

/** Section 8.2 of RFC 9639. `undefined` if the encoder did not know the number of samples. */
export function flacSeconds(bytes: Uint8Array): number | undefined {
	if (bytes.length < STREAMINFO_AT + STREAMINFO_BYTES) return undefined;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const samplesPerSecond = view.getUint32(STREAMINFO_AT + 10) >>> 12;
	const samples = (view.getUint8(STREAMINFO_AT + 13) & 0xf) * 2 ** 32 + view.getUint32(STREAMINFO_AT + 14);
	return quotient(samples, samplesPerSecond);
}

const CHUNK_HEAD_BYTES = 8;
const COMMON_CHUNK_BYTES = 18;
/** A file has about ten chunks. */
const MAX_CHUNKS = 100;

export function aiffSeconds(bytes: Uint8Array): number | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	// `FORM`, a size and `AIFF` or `AIFC` precede the chunks.
	let at = 12;
	for (let chunks = 0; chunks < MAX_CHUNKS && at + CHUNK_HEAD_BYTES <= bytes.length; chunks++) {
		const start = at + CHUNK_HEAD_BYTES;
		if (hasTextAt(bytes, at, "COMM") && start + COMMON_CHUNK_BYTES <= bytes.length)
			return quotient(view.getUint32(start + 2), extendedFloat(view, start + 8));
		const length = view.getUint32(at + 4);
		at = start + length + (length % 2);
	}
	return undefined;
}

/** IEEE 754 extended precision: a sign and 15 bits of exponent, then 64 bits of mantissa with its integer bit. */
const extendedFloat = (view: DataView, at: number): number =>
	Number(view.getBigUint64(at + 2)) * 2 ** ((view.getUint16(at) & 0x7fff) - 16_383 - 63);

function quotient(samples: number, samplesPerSecond: number): number | undefined {
	const seconds = samples / samplesPerSecond;
	return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
}
