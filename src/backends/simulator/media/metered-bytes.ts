/**
 * Bytes that limit how often they are read. The parser (`parseBuffer` of music-metadata) takes each small piece with
 * `subarray`, and a hostile file of empty boxes, pages or chunks would keep it busy for minutes.
 */

/** Headers take some hundreds. Each table of an MP4 file is one read, whatever the duration of the audio. */
const MAX_READS = 2_000;
/** The cover picture of an album is one read. */
const MAX_READ_BYTES = 8 * 1024 * 1024;

export class MeteredBytes extends Uint8Array<ArrayBuffer> {
	#readsLeft = MAX_READS;

	/** A view of the same buffer, not a copy. */
	static over(bytes: Uint8Array<ArrayBuffer>): MeteredBytes {
		return new MeteredBytes(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	/** Throws a `RangeError` after too many reads, or for one read that is too long. */
	override subarray(begin = 0, end = this.length): Uint8Array<ArrayBuffer> {
		if (--this.#readsLeft < 0 || end - begin > MAX_READ_BYTES) throw new RangeError("too much to read");
		return new Uint8Array(this.buffer, this.byteOffset + begin, Math.max(0, end - begin));
	}
}
