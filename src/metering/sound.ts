/**
 * How long a sound is, by what its file says of itself: nothing is decoded. Samples are measured at once; any other
 * format is read by a library, which is loaded when the first such file comes.
 */
import { MeteredBytes } from "../media/metered-bytes.ts";
import type { TurnInput } from "../tasks/audio.ts";
import type { Media } from "../tasks/media.ts";
import { dtypeBytesPerSecond, isWav, rawBytesPerSecond, wavSeconds } from "./samples.ts";

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
	const { parseBuffer } = await import("music-metadata");
	// Both readings together.
	const metered = MeteredBytes.over(bytes);
	const read = async (options: { duration: boolean }): Promise<Seconds> => {
		try {
			const { format } = await parseBuffer(metered, undefined, {
				skipCovers: true,
				...options,
			});
			const { hasAudio, duration } = format;
			return hasAudio && duration && Number.isFinite(duration) && duration > 0 ? duration : undefined;
		} catch {
			return undefined;
		}
	};
	// Where the headers do not say, the frames can be counted.
	return (await read({ duration: false })) ?? read({ duration: true });
}
