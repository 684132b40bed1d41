/**
 * How long a sound is, by what its file says of itself: nothing is decoded. Samples are measured at once; any other
 * format is read by a library, which is loaded when the first such file comes.
 */
import type { TurnInput } from "../tasks/audio.ts";
import type { Media } from "../tasks/media.ts";
import { dtypeBytesPerSecond, isWav, rawBytesPerSecond, wavSeconds } from "./samples.ts";

/** An hour of Ogg takes about ten thousand; made to be slow, a file of a few megabytes takes millions. */
const MAX_READS = 30_000;
/** Room for the cover of an album, which comes in one piece. */
const MAX_READ_BYTES = 8 * 1024 * 1024;

export type Seconds = number | undefined;

/** `undefined` where the file does not say, or is none. `dtype` is how bare samples for turn detection are written. */
export function secondsOf(
	{ bytes, contentType }: Media,
	dtype?: TurnInput["dtype"],
): Seconds | Promise<Seconds> {
	if (isWav(bytes)) return wavSeconds(bytes);
	const bytesPerSecond = dtype ? dtypeBytesPerSecond(dtype) : rawBytesPerSecond(contentType);
	return bytesPerSecond === undefined ? readSeconds(bytes) : bytes.length / bytesPerSecond;
}

async function readSeconds(bytes: Uint8Array<ArrayBuffer>): Promise<Seconds> {
	const { parseBlob } = await import("music-metadata");
	const read = async (options: { duration: boolean }): Promise<Seconds> => {
		try {
			const { format } = await parseBlob(new MeteredBlob([bytes]), { skipCovers: true, ...options });
			const { hasAudio, duration } = format;
			return hasAudio && duration && Number.isFinite(duration) && duration > 0 ? duration : undefined;
		} catch {
			return undefined;
		}
	};
	// Where the headers do not say, the frames can be counted.
	return (await read({ duration: false })) ?? read({ duration: true });
}

/** Ends the work of a parser that a hostile file leads in small steps. */
class MeteredBlob extends Blob {
	#reads = 0;

	override slice(start = 0, end = this.size, type?: string): Blob {
		if (++this.#reads > MAX_READS || end - start > MAX_READ_BYTES) throw new RangeError("too much to read");
		return super.slice(start, end, type);
	}
}
