import { encode as encodePng } from "fast-png";
import { encode as encodeJpeg } from "jpeg-js";
import { describe, expect, it } from "vitest";
import { decisionReader } from "../../../src/dialects/text/decision.ts";
import { encodeBase64 } from "../../../src/media/base64.ts";
import { productModel, read, refusal } from "../read-write.ts";

const clef = productModel("@cf/cloudflare/clef");
const omni = productModel("@cf/cloudflare/clef-omni");
const MIB = 1024 * 1024;
const questions = { q: { type: "noul", instructions: "Is it?" } };
const clefSends = (images: unknown) => ({ model: "clef", state: "", questions, images });
const omniSends = (media: object) => ({ model: "clef-omni", state: "", questions, ...media });

const png = encodePng({ width: 2, height: 2, data: new Uint8Array(12), channels: 3 });
const jpeg = encodeJpeg({ width: 8, height: 8, data: new Uint8Array(256) }, 50).data;
const webp = Uint8Array.fromBase64("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA");
const url = (type: string, bytes: Uint8Array) => `data:${type};base64,${encodeBase64(bytes)}`;

/** The file followed by padding, which decoders ignore. */
function padded(bytes: Uint8Array, length: number): Uint8Array {
	const all = new Uint8Array(length);
	all.set(bytes);
	return all;
}

function pngOfSize(width: number, height: number): Uint8Array {
	const bytes = png.slice();
	const header = new DataView(bytes.buffer);
	header.setUint32(16, width);
	header.setUint32(20, height);
	return bytes;
}

describe("images of a decision", () => {
	it("may be data URLs or objects with base64, and are sent to the engine as data URLs", () => {
		const images = [
			url("image/png", png),
			{ content_type: "image/jpeg", base64: encodeBase64(jpeg) },
			url("image/webp", webp),
		];
		expect(read(decisionReader, clef, clefSends(images)).call.input).toMatchObject({
			images: [url("image/png", png), url("image/jpeg", jpeg), url("image/webp", webp)],
		});
	});

	it("are sent with their detected type, for any type of the caller", () => {
		expect(read(decisionReader, clef, clefSends([url("image/png", jpeg)])).call.input).toMatchObject({
			images: [url("image/jpeg", jpeg)],
		});
	});

	it("are refused if they are invalid", () => {
		const cases: [unknown, string][] = [
			["https://example.com/cat.png", "'/images/0' failed test ^[Dd][Aa][Tt][Aa]: pattern"],
			["data:image/png,abc", "'/images/0' must be a base64 data URL"],
			[`data:image/png${";".repeat(6_000_000)}`, "'/images/0' must be a base64 data URL"],
			["data:image/png;base64,@@@", "'/images/0' is not base64"],
			[url("image/gif", png), "'/images/0' must be image/png, image/jpeg or image/webp"],
			[url("image/jpeg", new TextEncoder().encode("<html></html>")), "'/images/0' image payload is invalid"],
			[url("image/png", png.slice(0, 12)), "'/images/0' image payload is invalid"],
			[{ base64: "AAAA" }, "required properties at '/images/0' are 'content_type,base64'"],
			[1, "Type mismatch of '/images/0', 'string' not in 'number','integer'"],
		];
		for (const [image, expected] of cases)
			expect(refusal(decisionReader, clef, clefSends([image]))).toBe(`Error: ${expected}`);
	});

	it("are limited to 4 of 4 MiB and 16 megapixels, 8 MiB in total", () => {
		const small = url("image/png", png);
		const largest = url("image/png", padded(png, 4 * MIB));
		const accepted = [
			[small, small, small, small],
			[largest, largest],
			[url("image/png", pngOfSize(4000, 4000))],
		];
		for (const images of accepted)
			expect(read(decisionReader, clef, clefSends(images)).call.input).toMatchObject({ images });
		const cases: [unknown, string][] = [
			[[small, small, small, small, small], "maxItems at '/images' is 4, got 5"],
			[[small, url("image/png", padded(png, 4 * MIB + 1))], "'/images/1' must be <= 4194304 bytes"],
			[[url("image/png", pngOfSize(4000, 4001))], "'/images/0' must be <= 16000000 pixels"],
			[[largest, largest, small], "'/images' must be <= 8388608 bytes in all"],
		];
		for (const [images, expected] of cases)
			expect(refusal(decisionReader, clef, clefSends(images))).toBe(`Error: ${expected}`);
	});
});

describe("audio and videos of a decision", () => {
	const wav = new TextEncoder().encode("RIFF\0\0\0\0WAVEfmt ");
	const mp4 = new TextEncoder().encode("\0\0\0\x18ftypisom");

	it("are sent to the engine as data URLs", () => {
		const media = {
			audio: [url("audio/wav", wav)],
			videos: [{ content_type: "video/mp4", base64: encodeBase64(mp4) }],
		};
		expect(read(decisionReader, omni, omniSends(media)).call.input).toMatchObject({
			images: [],
			audio: [url("audio/wav", wav)],
			videos: [url("video/mp4", mp4)],
		});
	});

	it("are limited to 4 of 8 MiB and 2 of 16 MiB, 16 MiB in total", () => {
		const audio = (length: number) => url("audio/wav", padded(wav, length));
		const video = (length: number) => url("video/mp4", padded(mp4, length));
		expect(read(decisionReader, omni, omniSends({ videos: [video(16 * MIB)] })).call.task).toBe("decision");
		expect(read(decisionReader, omni, omniSends({ audio: [audio(8 * MIB), audio(8 * MIB)] })).call.task).toBe(
			"decision",
		);
		const cases: [object, string][] = [
			[{ audio: Array.from({ length: 5 }, () => audio(64)) }, "maxItems at '/audio' is 4, got 5"],
			[{ videos: Array.from({ length: 3 }, () => video(64)) }, "maxItems at '/videos' is 2, got 3"],
			[{ audio: [audio(8 * MIB + 1)] }, "'/audio/0' must be <= 8388608 bytes"],
			[{ videos: [video(16 * MIB + 1)] }, "'/videos/0' must be <= 16777216 bytes"],
			[
				{ audio: [audio(8 * MIB)], videos: [video(8 * MIB + 1)] },
				"'/audio' and '/videos' must be <= 16777216 bytes in all",
			],
			[{ audio: [url("video/mp4", mp4)] }, "'/audio/0' failed test ^data:audio/ pattern"],
			[{ audio: [{ content_type: "text/plain", base64: "AAAA" }] }, "'/audio/0' must be of a type audio/*"],
			[{ audio: [url("audio/wav", png)] }, "'/audio/0' audio payload is invalid"],
			[{ videos: ["data:video/mp4;base64,"] }, "'/videos/0' video payload is invalid"],
		];
		for (const [media, expected] of cases)
			expect(refusal(decisionReader, omni, omniSends(media))).toBe(`Error: ${expected}`);
	});
});
