/** What a file is, by its first bytes: they tell the truth where a header is missing or polite. */
import type { Media } from "../../tasks/media.ts";

interface Signature {
	contentType: string;
	/** Name of a file of the kind: servers tell audio formats by it. */
	extension: string;
	/** Latin-1. */
	begins: string;
	/** Further bytes, and where. */
	and?: { at: number; text: string };
}

const SIGNATURES: Signature[] = [
	{ contentType: "image/png", extension: "png", begins: "\x89PNG\r\n\x1a\n" },
	{ contentType: "image/jpeg", extension: "jpg", begins: "\xff\xd8\xff" },
	{ contentType: "image/gif", extension: "gif", begins: "GIF8" },
	{ contentType: "image/webp", extension: "webp", begins: "RIFF", and: { at: 8, text: "WEBP" } },
	{ contentType: "audio/wav", extension: "wav", begins: "RIFF", and: { at: 8, text: "WAVE" } },
	{ contentType: "audio/flac", extension: "flac", begins: "fLaC" },
	{ contentType: "audio/ogg", extension: "ogg", begins: "OggS" },
	{ contentType: "audio/webm", extension: "webm", begins: "\x1a\x45\xdf\xa3" },
	{ contentType: "audio/mp4", extension: "m4a", begins: "", and: { at: 4, text: "ftyp" } },
	{ contentType: "audio/mpeg", extension: "mp3", begins: "ID3" },
	// Frames without tags: MPEG 1 and 2, layer 3, with and without a checksum.
	...["\xff\xfb", "\xff\xfa", "\xff\xf3", "\xff\xf2"].map((begins) => ({
		contentType: "audio/mpeg",
		extension: "mp3",
		begins,
	})),
];

/** Types under which the same formats are sent. */
const ALIASES: Record<string, string> = {
	"image/jpg": "image/jpeg",
	"audio/wave": "audio/wav",
	"audio/x-wav": "audio/wav",
	"audio/vnd.wave": "audio/wav",
	"audio/mp3": "audio/mpeg",
	"audio/x-flac": "audio/flac",
	"audio/opus": "audio/ogg",
	"audio/x-m4a": "audio/mp4",
	"audio/m4a": "audio/mp4",
	"video/webm": "audio/webm",
	"video/mp4": "audio/mp4",
};

export interface KnownType {
	contentType: string;
	extension: string;
}

/** By the bytes, else by what the sender said, else `undefined`. */
export function typeOf({ bytes, contentType }: Media): KnownType | undefined {
	const said = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
	const name = ALIASES[said] ?? said;
	return sniff(bytes) ?? SIGNATURES.find((signature) => signature.contentType === name);
}

export function sniff(bytes: Uint8Array): KnownType | undefined {
	return SIGNATURES.find(
		({ begins, and }) => hasText(bytes, 0, begins) && (and === undefined || hasText(bytes, and.at, and.text)),
	);
}

const hasText = (bytes: Uint8Array, at: number, text: string): boolean => {
	for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
	return true;
};
