/**
 * Reads the duration of audio from the file's own metadata; nothing is decoded. Raw samples are measured synchronously.
 * The headers of other formats are read by a library, which is loaded with the first such file.
 */

import type { Media } from "../media/media.ts";
import { MeteredBytes } from "../media/metered-bytes.ts";
import { mediaTypeOf } from "../media/types.ts";
import { framesSeconds } from "./frame-duration.ts";
import { oggSeconds } from "./ogg-duration.ts";
import { dtypeBytesPerSecond, isWav, rawBytesPerSecond, type SampleType, wavSeconds } from "./samples.ts";

/** Formats of frames, which may have no header. */
const FRAME_TYPES = new Set(["audio/mpeg", "audio/aac"]);

export type Seconds = number | undefined;

/** `undefined` if the duration is unknown or the file is not audio. `dtype` is the format of raw samples. */
export function secondsOf({ bytes, contentType }: Media, dtype?: SampleType): Seconds | Promise<Seconds> {
	if (isWav(bytes)) return wavSeconds(bytes);
	const bytesPerSecond = dtype ? dtypeBytesPerSecond(dtype) : rawBytesPerSecond(contentType);
	return bytesPerSecond === undefined ? readSeconds(bytes) : bytes.length / bytesPerSecond;
}

async function readSeconds(bytes: Uint8Array<ArrayBuffer>): Promise<Seconds> {
	const type = mediaTypeOf(bytes);
	if (type === "audio/ogg") return oggSeconds(bytes);
	// Frames are added up only if no header has the duration.
	return (await headerSeconds(bytes)) ?? (type && FRAME_TYPES.has(type) ? framesSeconds(bytes) : undefined);
}

async function headerSeconds(bytes: Uint8Array<ArrayBuffer>): Promise<Seconds> {
	const { parseBuffer } = await import("music-metadata");
	const format: { hasAudio?: boolean; duration?: number } = {};
	try {
		await parseBuffer(MeteredBytes.over(bytes), undefined, {
			duration: false,
			skipCovers: true,
			observer: ({ metadata }) => Object.assign(format, metadata.format),
		});
	} catch {
		// What the headers had before the error counts: a file may have more clusters than the parser may read.
	}
	const { hasAudio, duration } = format;
	return hasAudio && duration && Number.isFinite(duration) && duration > 0 ? duration : undefined;
}
