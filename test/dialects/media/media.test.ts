import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
	audioFileOf,
	audioOf,
	ByteArray,
	decodeBase64,
	decodeBinaryString,
	decodeDataUri,
	imageOf,
	toMedia,
	Wrapped,
} from "../../../src/dialects/media/media.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import { encodeBase64 } from "../../../src/media/base64.ts";
import { base64, binaryString, latin1, png, wav } from "../samples.ts";

const File = z.object({ image: ByteArray });
const Stream = z.object({ audio: Wrapped });

describe("ByteArray", () => {
	it("accepts numbers, bytes and a wrapped body without copying them", () => {
		for (const image of [
			[0, 255],
			new Uint8Array([1]),
			{ body: new Uint8Array([1]), contentType: "image/png" },
		])
			expect(validate(File, { image }).image).toBe(image);
	});

	it.each<[unknown, string]>([
		[undefined, "required properties at '/' are 'image'"],
		["AAAA", "Type mismatch of '/image', 'array' not in 'string'"],
		[{ 0: 1 }, "Type mismatch of '/image', 'array' not in 'object'"],
		[[1, "2"], "Type mismatch of '/image/1', 'integer' not in 'string'"],
		[[1, 2.5], "Type mismatch of '/image/1', 'integer' not in 'number'"],
		[[1, 256], "'/image/1' must be <= 255"],
		[[-1], "'/image/0' must be >= 0"],
	])("refuses %j", (image, finding) => {
		expect(() => validate(File, { image })).toThrow(`5006: Error: ${finding}`);
	});

	it("accepts only lists of bytes", () => {
		fc.assert(
			fc.property(fc.array(fc.oneof(fc.nat(255), fc.integer(), fc.double())), (image) => {
				const bytes = image.every((item) => Number.isInteger(item) && item >= 0 && item <= 255);
				expect(File.safeParse({ image }).success).toBe(bytes);
			}),
		);
	});

	it("checks ten million bytes once and reports one issue", () => {
		const image: unknown[] = new Array(10_000_000).fill(7);
		expect(validate(File, { image }).image).toBe(image);
		image[9_999_999] = 300;
		image[9_999_998] = "x";
		expect(() => validate(File, { image })).toThrow(
			"5006: Error: Type mismatch of '/image/9999998', 'integer' not in 'string'",
		);
	});

	it("has a JSON Schema", () => {
		expect(z.toJSONSchema(File, { io: "input", unrepresentable: "any" })).toMatchObject({
			properties: { image: { type: "array", items: { type: "integer", minimum: 0, maximum: 255 } } },
			required: ["image"],
		});
	});
});

describe("Wrapped", () => {
	it.each<[unknown, string]>([
		[
			{ body: "UklGRg==", contentType: "audio/wav" },
			"required properties at '/audio' are 'body,contentType'",
		],
		[{}, "required properties at '/audio' are 'body,contentType'"],
		[{ body: new Uint8Array([1]) }, "required properties at '/audio' are 'contentType'"],
		["UklGRg==", "Type mismatch of '/audio', 'object' not in 'string'"],
		[[1, 2], "Type mismatch of '/audio', 'object' not in 'array','binary'"],
		[undefined, "required properties at '/' are 'audio'"],
	])("refuses %j", (audio, finding) => {
		expect(() => validate(Stream, { audio })).toThrow(`5006: Error: ${finding}`);
	});
});

describe("toMedia", () => {
	it("keeps the sender's type, and detects a missing one", () => {
		const body = wav();
		expect(toMedia({ body, contentType: "audio/x-own" }).contentType).toBe("audio/x-own");
		for (const contentType of ["", "application/octet-stream", "application/x-www-form-urlencoded"])
			expect(toMedia({ body, contentType })).toEqual({ bytes: body, contentType: "audio/wav" });
		expect(toMedia([...body])).toEqual({ bytes: body, contentType: "audio/wav" });
		expect(toMedia([1, 2])).toEqual({ bytes: new Uint8Array([1, 2]) });
	});
});

describe("audio", () => {
	it("is refused if it is empty", () => {
		expect(() => audioOf([])).toThrow("8001: Invalid input");
		expect(() => audioFileOf(latin1("<html>not found</html>"))).toThrow("8001: Invalid input");
	});

	it("may have no header for models with a sample format", () => {
		expect(audioOf([128, 127]).bytes).toEqual(new Uint8Array([128, 127]));
	});
});

describe("imageOf", () => {
	it("detects the type, for any type of the sender", () => {
		expect(imageOf({ body: png(2, 2), contentType: "image/jpeg" }).contentType).toBe("image/png");
	});

	it.each([[[]], [[1, 2, 3]]])("refuses %j", (bytes) => {
		expect(() => imageOf(bytes)).toThrow("3030: Invalid input image[0]: unable to decode image file");
		expect(() => imageOf(bytes, "image[2]")).toThrow("3030: Invalid input image[2]: unable to");
	});
});

describe("base64", () => {
	it("decodes to the encoded bytes", () => {
		fc.assert(
			fc.property(fc.uint8Array(), (bytes) => {
				expect(encodeBase64(bytes)).toBe(base64(bytes));
				expect([...decodeBase64(encodeBase64(bytes))]).toEqual([...bytes]);
			}),
		);
	});

	it("does not overflow the stack for a large file", () => {
		expect(encodeBase64(new Uint8Array(30_000_000))).toHaveLength(40_000_000);
	});

	it("accepts line breaks and missing padding", () => {
		expect([...decodeBase64("AQ\nI")]).toEqual([1, 2]);
	});

	it.each(["a", "AA-_", "data:audio/wav;base64,AAAA", "not base64!"])("refuses %j as 5004", (text) => {
		expect(() => decodeBase64(text)).toThrow("5004: Invalid data type for base64 input: string");
	});

	it("is decoded from a data URI", () => {
		expect(decodeDataUri("data:image/png;charset=x;base64,AQI=")).toEqual({
			body: new Uint8Array([1, 2]),
			contentType: "image/png",
		});
		expect(decodeDataUri("DATA: Image/PNG ; BASE64,AQI=")).toMatchObject({ contentType: "image/png" });
		for (const text of ["https://a/b,c", "data:image/png,AQI=", "data:image/png;base64", "data", ""])
			expect(decodeDataUri(text)).toBeUndefined();
		expect(() => decodeDataUri("data:image/png;base64,@@")).toThrow("5004");
	});

	it("searches the comma only near the start", () => {
		expect(decodeDataUri(`data:image/png${";".repeat(6_000_000)}`)).toBeUndefined();
		expect(decodeDataUri(`data:image/png${";".repeat(6_000_000)};base64,AQI=`)).toBeUndefined();
	});
});

describe("decodeBinaryString", () => {
	it("decodes one byte per character, and refuses characters above 255", () => {
		const bytes = png(3, 1);
		expect(decodeBinaryString(binaryString(bytes))).toEqual(bytes);
		expect(decodeBinaryString("日本")).toBeUndefined();
	});
});
