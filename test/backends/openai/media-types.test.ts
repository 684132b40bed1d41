import { describe, expect, it } from "vitest";
import { sniff, typeOf } from "../../../src/backends/openai/media-types.ts";

const bytes = (latin1: string) => Uint8Array.from(latin1, (character) => character.charCodeAt(0));

describe("a file", () => {
	it.each([
		["\x89PNG\r\n\x1a\nrest", "image/png", "png"],
		["\xff\xd8\xff\xe0", "image/jpeg", "jpg"],
		["GIF89a", "image/gif", "gif"],
		["RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "webp"],
		["RIFF\x10\0\0\0WAVEfmt ", "audio/wav", "wav"],
		["fLaC\0", "audio/flac", "flac"],
		["OggS\0", "audio/ogg", "ogg"],
		["\x1a\x45\xdf\xa3", "audio/webm", "webm"],
		["\0\0\0\x20ftypM4A ", "audio/mp4", "m4a"],
		["ID3\x04", "audio/mpeg", "mp3"],
		["\xff\xfb\x90", "audio/mpeg", "mp3"],
		["\xff\xf3\x44", "audio/mpeg", "mp3"],
	])("that begins with %j is %s", (text, contentType, extension) => {
		expect(sniff(bytes(text))).toMatchObject({ contentType, extension });
	});

	it.each(["", "R", "RIFF\x10\0\0\0AVI ", "\xff\xd8", "plain text"])(
		"that begins with %j is unknown",
		(text) => {
			expect(sniff(bytes(text))).toBeUndefined();
		},
	);

	it("is what its bytes say, then what its sender said, under one name", () => {
		expect(typeOf({ bytes: bytes("fLaC"), contentType: "audio/mpeg" })?.contentType).toBe("audio/flac");
		expect(typeOf({ bytes: bytes("?"), contentType: "Audio/X-WAV; rate=8000" })?.contentType).toBe(
			"audio/wav",
		);
		expect(typeOf({ bytes: bytes("?"), contentType: "text/plain" })).toBeUndefined();
		expect(typeOf({ bytes: bytes("?") })).toBeUndefined();
	});
});
