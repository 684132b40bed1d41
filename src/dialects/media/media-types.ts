/** What kind of file some bytes are, by their first few; nothing is decoded. */

interface Signature {
	type: string;
	/** Text to find, read as Latin-1, and where. */
	marks: readonly [offset: number, text: string][];
}

const signature = (type: string, ...marks: Signature["marks"]): Signature => ({ type, marks });

/** First match wins: a brand inside a container comes before the container. */
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

/** Where an MP3 with padding or junk before its first frame may still begin. */
const FRAME_SEARCH_BYTES = 4096;

/** The media type, or `undefined` for bytes that are none of the kinds which the models take. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
	const known = SIGNATURES.find(({ marks }) =>
		marks.every(([offset, text]) => {
			for (let i = 0; i < text.length; i++) if (bytes[offset + i] !== text.charCodeAt(i)) return false;
			return true;
		}),
	);
	return known?.type ?? frameTypeAt(bytes, 0);
}

/** Whether a decoder of sound could find anything in the bytes. Says yes when in doubt, no to text and to images. */
export function maySound(bytes: Uint8Array): boolean {
	const type = mediaTypeOf(bytes);
	if (type) return !type.startsWith("image/");
	for (let i = 1; i < Math.min(bytes.length, FRAME_SEARCH_BYTES); i++) if (frameTypeAt(bytes, i)) return true;
	return false;
}

/** The 11 bits that open each MPEG audio frame, then the layer: 0 is AAC in ADTS. */
function frameTypeAt(bytes: Uint8Array, offset: number): string | undefined {
	const second = bytes[offset + 1] ?? 0;
	if (bytes[offset] !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
	if ((second & 0x06) !== 0) return "audio/mpeg";
	return (second & 0xf0) === 0xf0 ? "audio/aac" : undefined;
}
