/**
 * Bytes for a parser that reads many small pieces (`parseBuffer` of music-metadata reads each with `subarray`). A hostile
 * file of empty boxes, pages or chunks would keep the parser busy for minutes, so the reads are counted.
 */
import { mediaTypeOf } from "./types.ts";

/** An hour of Ogg takes about ten thousand reads. */
const MAX_READS = 30_000;
/** The tables of an MP4 file are one read each, however long the sound is. */
const MAX_READS_OF_MP4 = 2_000;
const BASE_READS = 500;
/** Shorter than the frames of sound at 16 kbit/s. */
const BYTES_PER_READ = 64;
/** The cover picture of an album is one read. */
const MAX_READ_BYTES = 8 * 1024 * 1024;

export class MeteredBytes extends Uint8Array<ArrayBuffer> {
	#readsLeft = Math.min(
		mediaTypeOf(this)?.endsWith("/mp4") ? MAX_READS_OF_MP4 : MAX_READS,
		BASE_READS + this.length / BYTES_PER_READ,
	);

	/** Without a copy. */
	static over(bytes: Uint8Array<ArrayBuffer>): MeteredBytes {
		return new MeteredBytes(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	/** Throws a `RangeError` where the file asks for too many reads, or for too long a one. */
	override subarray(begin = 0, end = this.length): Uint8Array<ArrayBuffer> {
		if (--this.#readsLeft < 0 || end - begin > MAX_READ_BYTES) throw new RangeError("too much to read");
		return new Uint8Array(this.buffer, this.byteOffset + begin, Math.max(0, end - begin));
	}
}
