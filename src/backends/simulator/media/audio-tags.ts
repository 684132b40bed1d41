/**
 * The tags of the simulator's audio files: a notice that they are simulated, and the spoken text, which the simulator's
 * speech recognition reads.
 *
 * MP3: ID3v2.4 `TXXX` (https://id3.org/id3v2.4.0-frames). WAV: `LIST INFO`, in UTF-8 as `CSET` says (Multimedia
 * Programming Interface and Data Specifications 1.0).
 */
import type { IAudioMetadata } from "music-metadata";
import { NOTICE, SOFTWARE } from "./notice.ts";
import { ascii, joined, riffChunk } from "./riff.ts";

/** Descriptions of the `TXXX` frames. */
const ID3_TEXT = "ganglion.text";
const ID3_SIMULATED = "simulated";
const ID3_UTF8 = 3;
const CODE_PAGE_UTF8 = 65001;

const encoder = new TextEncoder();

export function id3Tag(text: string): Uint8Array<ArrayBuffer> {
	const frames = [
		...id3Frame("TSSE", SOFTWARE),
		...id3Frame("TXXX", `${ID3_SIMULATED}\0${NOTICE}`),
		...id3Frame("TXXX", `${ID3_TEXT}\0${text}`),
	];
	const length = frames.reduce((sum, part) => sum + part.length, 0);
	return joined([ascii("ID3"), Uint8Array.of(4, 0, 0), syncSafe(length), ...frames]);
}

const id3Frame = (id: string, text: string): Uint8Array[] => {
	const content = encoder.encode(text);
	return [ascii(id), syncSafe(content.length + 1), Uint8Array.of(0, 0, ID3_UTF8), content];
};

/** Seven bits a byte, most significant first. */
const syncSafe = (value: number): Uint8Array =>
	Uint8Array.of((value >> 21) & 0x7f, (value >> 14) & 0x7f, (value >> 7) & 0x7f, value & 0x7f);

/** A WAV file with the tags appended: software, keywords, comment. */
export function withInfo(wav: Uint8Array, text: string): Uint8Array<ArrayBuffer> {
	const characterSet = new Uint8Array(8);
	new DataView(characterSet.buffer).setUint16(0, CODE_PAGE_UTF8, true);
	const info = joined([
		ascii("INFO"),
		riffChunk("ISFT", encoder.encode(`${SOFTWARE}\0`)),
		riffChunk("IKEY", encoder.encode(`${NOTICE}\0`)),
		riffChunk("ICMT", encoder.encode(`${text}\0`)),
	]);
	const file = joined([wav, riffChunk("CSET", characterSet), riffChunk("LIST", info)]);
	new DataView(file.buffer).setUint32(4, file.length - 8, true);
	return file;
}

/** The text of a file of the simulator. Undefined for other files, whatever their tags. */
export function taggedText({ native }: IAudioMetadata): string | undefined {
	const tag = (type: string, id: string): string | undefined => {
		const value = native[type]?.find((one) => one.id === id)?.value;
		return typeof value === "string" && value !== "" ? value : undefined;
	};
	const fromId3 = tag("ID3v2.4", `TXXX:${ID3_TEXT}`);
	return fromId3 ?? (tag("exif", "ISFT") === SOFTWARE ? tag("exif", "ICMT") : undefined);
}
