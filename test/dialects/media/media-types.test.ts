import { describe, expect, it } from "vitest";
import { maySound, mediaTypeOf } from "../../../src/dialects/media/media-types.ts";
import { latin1 } from "../samples.ts";

describe("mediaTypeOf", () => {
	it.each([
		["\x89PNG\r\n\x1a\n\0\0", "image/png"],
		["\xff\xd8\xff\xe0", "image/jpeg"],
		["GIF89a", "image/gif"],
		["RIFF\x10\0\0\0WEBPVP8 ", "image/webp"],
		["\0\0\0\x1cftypavif", "image/avif"],
		["RIFF\x10\0\0\0WAVEfmt ", "audio/wav"],
		["ID3\x04\0", "audio/mpeg"],
		["\xff\xfb\x90\x64", "audio/mpeg"],
		["\xff\xf3\x14\xc4", "audio/mpeg"],
		["\xff\xf1\x50\x80", "audio/aac"],
		["OggS\0", "audio/ogg"],
		["fLaC\0", "audio/flac"],
		["\0\0\0\x20ftypM4A ", "audio/mp4"],
		["\0\0\0\x20ftypisom", "video/mp4"],
		["\x1a\x45\xdf\xa3", "video/webm"],
	])("knows %j", (head, type) => {
		expect(mediaTypeOf(latin1(head))).toBe(type);
	});

	it.each(["", "RIFF", "BM it is text", "plain text", '{"audio":[]}'])("does not know %j", (head) => {
		expect(mediaTypeOf(latin1(head))).toBeUndefined();
	});
});

describe("maySound", () => {
	it("is true for sound, and for films, which have a sound track", () => {
		expect(maySound(latin1("RIFF\x10\0\0\0WAVEfmt "))).toBe(true);
		expect(maySound(latin1("\x1a\x45\xdf\xa3"))).toBe(true);
	});

	it("finds an MP3 frame behind padding", () => {
		expect(maySound(latin1(`${"\0".repeat(1000)}\xff\xfb\x90\x64`))).toBe(true);
	});

	it("is false for text, images and nothing", () => {
		expect(maySound(latin1("this is not audio"))).toBe(false);
		expect(maySound(latin1("\x89PNG\r\n\x1a\n"))).toBe(false);
		expect(maySound(new Uint8Array())).toBe(false);
	});
});
