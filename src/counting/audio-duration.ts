/**
 * Reads the duration of audio from the file's own metadata; nothing is decoded. Raw samples are measured synchronously.
 * Other formats are read by a library, which is loaded with the first such file.
 */

import type { Media } from "../media/media.ts";
import { MeteredBytes } from "../media/metered-bytes.ts";
import { dtypeBytesPerSecond, isWav, rawBytesPerSecond, type SampleType, wavSeconds } from "./samples.ts";

export type Seconds = number | undefined;

/** `undefined` if the duration is unknown or the file is not audio. `dtype` is the format of raw samples. */
export function secondsOf({ bytes, contentType }: Media, dtype?: SampleType): Seconds | Promise<Seconds> {
	if (isWav(bytes)) return wavSeconds(bytes);
	const bytesPerSecond = dtype ? dtypeBytesPerSecond(dtype) : rawBytesPerSecond(contentType);
	return bytesPerSecond === undefined ? readSeconds(bytes) : bytes.length / bytesPerSecond;
}

async function readSeconds(bytes: Uint8Array<ArrayBuffer>): Promise<Seconds> {
	const { parseBuffer } = await import("music-metadata");
	// One limit for both readings.
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
	// Without a duration in the headers, the library counts the frames.
	return (await read({ duration: false })) ?? read({ duration: true });
}
