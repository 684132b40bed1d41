/** Reads the duration of audio from the headers of the file, or from its size. Nothing is decoded. */
import type { Media } from "../media/media.ts";
import { mediaTypeOf } from "../media/types.ts";
import { framesSeconds } from "./frame-duration.ts";
import { aiffSeconds, flacSeconds } from "./header-duration.ts";
import { mp4Seconds } from "./mp4-duration.ts";
import { oggSeconds } from "./ogg-duration.ts";
import { dtypeBytesPerSecond, isWav, rawBytesPerSecond, type SampleType, wavSeconds } from "./samples.ts";
import { webmSeconds } from "./webm-duration.ts";

export type Seconds = number | undefined;

/** By the media type that the first bytes of the file show. The duration of other formats is unknown. */
const READERS = new Map<string, (bytes: Uint8Array) => Seconds>([
	["audio/mpeg", framesSeconds],
	["audio/aac", framesSeconds],
	["audio/ogg", oggSeconds],
	["audio/flac", flacSeconds],
	["audio/aiff", aiffSeconds],
	["audio/mp4", mp4Seconds],
	["video/mp4", mp4Seconds],
	["video/webm", webmSeconds],
]);

/** `undefined` if the duration is unknown or the file is not audio. `dtype` is the format of raw samples. */
export function secondsOf({ bytes, contentType }: Media, dtype?: SampleType): Seconds {
	if (isWav(bytes)) return wavSeconds(bytes);
	const bytesPerSecond = dtype ? dtypeBytesPerSecond(dtype) : rawBytesPerSecond(contentType);
	if (bytesPerSecond !== undefined) return bytes.length / bytesPerSecond;
	const type = mediaTypeOf(bytes);
	return type === undefined ? undefined : READERS.get(type)?.(bytes);
}
