/**
 * Detects the media type of a file from its first bytes, because `content-type` headers are often missing or wrong.
 * Nothing is decoded, so a video and an audio file in the same container look alike. Where the file is known to be audio,
 * use {@link soundTypeOf}.
 */

interface Signature {
	type: string;
	/** Latin-1 text at each offset. */
	marks: readonly [offset: number, text: string][];
}

const signature = (type: string, ...marks: Signature["marks"]): Signature => ({ type, marks });

/** The first match wins, so a container's brand (`ftypavif`) is listed before the container (`ftyp`). */
const SIGNATURES: readonly Signature[] = [
	signature("image/png", [0, "\x89PNG\r\n\x1a\n"]),
	signature("image/jpeg", [0, "\xff\xd8\xff"]),
	signature("image/gif", [0, "GIF8"]),
	signature("image/webp", [0, "RIFF"], [8, "WEBP"]),
	signature("image/avif", [4, "ftypavif"]),
	signature("image/heic", [4, "ftyphei"]),
	signature("image/heic", [4, "ftypmif1"]),
	signature("image/bmp", [0, "BM"], [6, "\0\0\0\0"]),
	signature("image/tiff", [0, "II*\0"]),
	signature("image/tiff", [0, "MM\0*"]),
	signature("audio/wav", [0, "RIFF"], [8, "WAVE"]),
	signature("audio/wav", [0, "RF64"], [8, "WAVE"]),
	signature("audio/mpeg", [0, "ID3"]),
	signature("audio/flac", [0, "fLaC"]),
	signature("audio/ogg", [0, "OggS"]),
	signature("audio/mp4", [4, "ftypM4"]),
	signature("video/mp4", [4, "ftyp"]),
	signature("video/webm", [0, "\x1a\x45\xdf\xa3"]),
	signature("audio/aiff", [0, "FORM"], [8, "AIF"]),
	signature("audio/amr", [0, "#!AMR"]),
	signature("audio/x-caf", [0, "caff"]),
	signature("audio/basic", [0, ".snd"]),
	signature("audio/x-ms-wma", [0, "\x30\x26\xb2\x75"]),
	signature("audio/aac", [0, "ADIF"]),
];

/** The file extension of each type. Engines recognise formats by it. */
const EXTENSIONS = new Map([
	["image/png", "png"],
	["image/jpeg", "jpg"],
	["image/gif", "gif"],
	["image/webp", "webp"],
	["image/avif", "avif"],
	["image/heic", "heic"],
	["image/bmp", "bmp"],
	["image/tiff", "tiff"],
	["audio/wav", "wav"],
	["audio/mpeg", "mp3"],
	["audio/flac", "flac"],
	["audio/ogg", "ogg"],
	["audio/mp4", "m4a"],
	["video/mp4", "mp4"],
	["audio/webm", "webm"],
	["video/webm", "webm"],
	["audio/aiff", "aiff"],
	["audio/amr", "amr"],
	["audio/x-caf", "caf"],
	["audio/basic", "au"],
	["audio/x-ms-wma", "wma"],
	["audio/aac", "aac"],
]);

/** Other media types in use for the same formats. */
const ALIASES = new Map([
	["image/jpg", "image/jpeg"],
	["audio/wave", "audio/wav"],
	["audio/x-wav", "audio/wav"],
	["audio/vnd.wave", "audio/wav"],
	["audio/mp3", "audio/mpeg"],
	["audio/x-flac", "audio/flac"],
	["audio/opus", "audio/ogg"],
	["audio/x-m4a", "audio/mp4"],
	["audio/m4a", "audio/mp4"],
	["audio/x-aiff", "audio/aiff"],
]);

/** Video containers, and the media type of an audio-only file in the same container. */
const AUDIO_TYPE_OF_VIDEO = new Map([
	["video/mp4", "audio/mp4"],
	["video/webm", "audio/webm"],
]);

/** An MP3 may have padding or junk before its first frame: up to here. */
const FRAME_SEARCH_BYTES = 4096;

/** The media type, or `undefined` for a format that no model accepts. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
	const known = SIGNATURES.find(({ marks }) => marks.every(([at, text]) => hasTextAt(bytes, at, text)));
	return known?.type ?? frameTypeAt(bytes, 0);
}

/** The canonical name of a type that {@link extensionOf} knows. Parameters and letter case are ignored. */
export function knownType(contentType: string): string | undefined {
	const essence = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
	const type = ALIASES.get(essence) ?? essence;
	return EXTENSIONS.has(type) ? type : undefined;
}

interface File {
	bytes: Uint8Array;
	/** The sender's `content-type`. */
	contentType?: string;
}

/** From the bytes, else from the sender's `content-type`, else `undefined`. */
export const typeOf = ({ bytes, contentType = "" }: File): string | undefined =>
	mediaTypeOf(bytes) ?? knownType(contentType);

/** As {@link typeOf}, for a file that is known to be audio. */
export function soundTypeOf(file: File): string | undefined {
	const type = typeOf(file);
	return type && (AUDIO_TYPE_OF_VIDEO.get(type) ?? type);
}

/** The extension without a dot; `undefined` for an unknown type. */
export const extensionOf = (type: string): string | undefined => EXTENSIONS.get(type);

/** Whether the bytes may contain audio: false for text and images, true in doubt. */
export function mayBeAudio(bytes: Uint8Array): boolean {
	const type = mediaTypeOf(bytes);
	if (type) return !type.startsWith("image/");
	for (let i = 1; i < Math.min(bytes.length, FRAME_SEARCH_BYTES); i++) if (frameTypeAt(bytes, i)) return true;
	return false;
}

export function hasTextAt(bytes: Uint8Array, at: number, text: string): boolean {
	for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
	return true;
}

/**
 * Reads the header of an MPEG audio frame: 11 set bits, version, layer, then bit rate and sample rate, neither of which
 * may have all bits set. Layer 0 is AAC in ADTS. Layer I is not in use; those bytes are the byte order mark of UTF-16.
 */
export function frameTypeAt(bytes: Uint8Array, offset: number): string | undefined {
	const second = bytes[offset + 1] ?? 0;
	if (bytes[offset] !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
	const version = second & 0x18;
	const layer = second & 0x06;
	if (layer === 0) return (second & 0xf0) === 0xf0 ? "audio/aac" : undefined;
	const rates = bytes[offset + 2] ?? 0;
	const isFrame = version !== 0x08 && layer !== 0x06 && (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c;
	return isFrame ? "audio/mpeg" : undefined;
}
