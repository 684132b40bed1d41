/** Audio in chats and decisions, as tallies count it. */
import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { mediaTypeOf } from "../media/types.ts";
import { framesSeconds } from "./frame-duration.ts";
import { bytesOfBase64 } from "./images.ts";
import { isWav, wavSeconds } from "./samples.ts";

export interface Sound {
	kind: "samples" | "compressed";
	/** Of the file. */
	bytes: number;
	/** Absent: the file does not show it. */
	seconds?: number | undefined;
}

/** Types of files that are read frame by frame. Other files declare a duration, which may be false: an engine plays the file to its end. */
const FRAMED = new Set(["audio/mpeg", "audio/aac"]);
/** MP3 at 320 kbit/s. Frames that cannot be read count as such. */
const MAX_FRAMED_BYTES_PER_SECOND = 40_000;

/** `text`: base64, or a data URL. `kind`: as the caller declares it. */
export function soundOf(text: string, kind: Sound["kind"]): Sound {
	const bytes = decodeBase64(splitDataUrl(text)?.base64 ?? text);
	return { kind, bytes: bytesOfBase64(text), seconds: bytes && playedSeconds(bytes) };
}

function playedSeconds(bytes: Uint8Array): number | undefined {
	if (isWav(bytes)) return wavSeconds(bytes);
	if (!FRAMED.has(mediaTypeOf(bytes) ?? "")) return undefined;
	const seconds = framesSeconds(bytes);
	return seconds && Math.max(seconds, bytes.length / MAX_FRAMED_BYTES_PER_SECOND);
}
