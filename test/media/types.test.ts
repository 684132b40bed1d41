import { describe, expect, it } from "vitest";
import {
	extensionOf,
	knownType,
	mayBeAudio,
	mediaTypeOf,
	soundTypeOf,
	typeOf,
} from "../../src/media/types.ts";

const bytes = (latin1: string) => Uint8Array.from(latin1, (character) => character.charCodeAt(0));

describe("a file", () => {
	it.each([
		["\x89PNG\r\n\x1a\n\0\0", "image/png", "png"],
		["\xff\xd8\xff\xe0", "image/jpeg", "jpg"],
		["GIF89a", "image/gif", "gif"],
		["RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "webp"],
		["\0\0\0\x1cftypavif", "image/avif", "avif"],
		["\0\0\0\x1cftypheic", "image/heic", "heic"],
		["\0\0\0\x1cftypmif1", "image/heic", "heic"],
		["BM\x36\0\0\0\0\0\0\0", "image/bmp", "bmp"],
		["II*\0", "image/tiff", "tiff"],
		["MM\0*", "image/tiff", "tiff"],
		["RIFF\x10\0\0\0WAVEfmt ", "audio/wav", "wav"],
		["RF64\xff\xff\xff\xffWAVEds64", "audio/wav", "wav"],
		["fLaC\0", "audio/flac", "flac"],
		["OggS\0", "audio/ogg", "ogg"],
		["\0\0\0\x20ftypM4A ", "audio/mp4", "m4a"],
		["\0\0\0\x20ftypisom", "video/mp4", "mp4"],
		["\x1a\x45\xdf\xa3", "video/webm", "webm"],
		["FORM\0\0\0\0AIFC", "audio/aiff", "aiff"],
		["#!AMR-WB", "audio/amr", "amr"],
		["caff\0\x01", "audio/x-caf", "caf"],
		[".snd\0", "audio/basic", "au"],
		["\x30\x26\xb2\x75\x8e\x66", "audio/x-ms-wma", "wma"],
		["ID3\x04\0", "audio/mpeg", "mp3"],
		["ADIF", "audio/aac", "aac"],
	])("that begins with %j is %s", (head, type, extension) => {
		expect(mediaTypeOf(bytes(head))).toBe(type);
		expect(extensionOf(type)).toBe(extension);
	});

	it.each([
		["MPEG 1, layer III", "\xff\xfb\x90\x64", "audio/mpeg"],
		["with a checksum", "\xff\xfa\x90\x64", "audio/mpeg"],
		["MPEG 2", "\xff\xf3\x14\xc4", "audio/mpeg"],
		["MPEG 2.5", "\xff\xe3\x14\xc4", "audio/mpeg"],
		["layer II", "\xff\xfd\x90\x64", "audio/mpeg"],
		["AAC in ADTS", "\xff\xf1\x50\x80", "audio/aac"],
	])("without a tag is known by its first frame: %s", (_, head, type) => {
		expect(mediaTypeOf(bytes(head))).toBe(type);
	});

	it.each([
		["", "nothing"],
		["R", "too little"],
		["RIFF", "too little of a container"],
		["RIFF\x10\0\0\0AVI ", "another container"],
		["\xff\xd8", "half a mark"],
		["BM it is text", "text"],
		["plain text", "text"],
		['{"audio":[]}', "JSON"],
		["\xff\xfea\0b\0", "UTF-16 text"],
		["\xff\xeb\x90\x64", "a frame of no version"],
		["\xff\xfb\xf0\x64", "a frame of no bit rate"],
		["\xff\xfb\x9c\x64", "a frame of no sample rate"],
	])("that begins with %j is unknown: %s", (head) => {
		expect(mediaTypeOf(bytes(head))).toBeUndefined();
	});

	it("is that of its bytes, otherwise the sender's", () => {
		expect(typeOf({ bytes: bytes("fLaC"), contentType: "audio/mpeg" })).toBe("audio/flac");
		expect(typeOf({ bytes: bytes("?"), contentType: "Audio/X-WAV; rate=8000" })).toBe("audio/wav");
		expect(typeOf({ bytes: bytes("?"), contentType: "text/plain" })).toBeUndefined();
		expect(typeOf({ bytes: bytes("?") })).toBeUndefined();
	});

	it("that is sound is no film, though its container may be one", () => {
		expect(soundTypeOf({ bytes: bytes("\x1a\x45\xdf\xa3") })).toBe("audio/webm");
		expect(soundTypeOf({ bytes: bytes("\0\0\0\x20ftypisom") })).toBe("audio/mp4");
		expect(soundTypeOf({ bytes: bytes("?"), contentType: "video/webm" })).toBe("audio/webm");
		expect(soundTypeOf({ bytes: bytes("fLaC") })).toBe("audio/flac");
		expect(soundTypeOf({ bytes: bytes("?") })).toBeUndefined();
		expect([extensionOf("audio/webm"), extensionOf("audio/mp4")]).toEqual(["webm", "m4a"]);
	});
});

describe("a declared type", () => {
	it.each([
		["audio/mpeg", "audio/mpeg"],
		["AUDIO/MP3 ; x=y", "audio/mpeg"],
		["audio/vnd.wave", "audio/wav"],
		["audio/opus", "audio/ogg"],
		["image/jpg", "image/jpeg"],
		["application/octet-stream", undefined],
		["", undefined],
	])("as %j is %s", (said, type) => {
		expect(knownType(said)).toBe(type);
	});
});

describe("mayBeAudio", () => {
	it("is true for sound, and for films, which have a sound track", () => {
		expect(mayBeAudio(bytes("RIFF\x10\0\0\0WAVEfmt "))).toBe(true);
		expect(mayBeAudio(bytes("\x1a\x45\xdf\xa3"))).toBe(true);
	});

	it("finds an MP3 frame behind padding", () => {
		expect(mayBeAudio(bytes(`${"\0".repeat(1000)}\xff\xfb\x90\x64`))).toBe(true);
		expect(mayBeAudio(bytes(`${"\0".repeat(5000)}\xff\xfb\x90\x64`))).toBe(false);
	});

	it("is false for text, images and nothing", () => {
		expect(mayBeAudio(bytes("this is not audio"))).toBe(false);
		expect(mayBeAudio(bytes("\x89PNG\r\n\x1a\n"))).toBe(false);
		expect(mayBeAudio(new Uint8Array())).toBe(false);
	});
});
