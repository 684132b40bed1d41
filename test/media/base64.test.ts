import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dataUrl, decodeBase64, encodeBase64, splitDataUrl } from "../../src/media/base64.ts";

const abc = new TextEncoder().encode("abc!");

describe("base64", () => {
	it("comes back as it went, whatever the bytes", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
				const text = encodeBase64(bytes);
				expect(text).toBe(btoa(String.fromCharCode(...bytes)));
				expect(decodeBase64(text)).toEqual(bytes);
			}),
		);
	});

	it("of a view is the view's", () => {
		expect(encodeBase64(abc.subarray(1, 3))).toBe("YmM=");
	});

	it.each(["YWJjIQ==", "YWJjIQ", "YWJj\r\nIQ==\n", " YWJjIQ = ="])("%j decodes", (text) => {
		expect(decodeBase64(text)).toEqual(abc);
	});

	it.each(["?", "YWJjIQ=", "YWJjI", "YW-_", "data:text/plain;base64,YWJjIQ==", "YWJj\u0000IQ=="])(
		"%j is none",
		(text) => {
			expect(decodeBase64(text)).toBeUndefined();
		},
	);
});

describe("a data URL", () => {
	it("is written from bytes and a type", () => {
		expect(dataUrl(abc, "text/plain")).toBe("data:text/plain;base64,YWJjIQ==");
	});

	it.each([
		["data:text/plain;base64,YWJjIQ==", "text/plain", "YWJjIQ=="],
		["DATA:audio/wav;codecs=1;BASE64,YWJjIQ==", "audio/wav;codecs=1", "YWJjIQ=="],
		["data:;base64,", "", ""],
	])("%s has its parts", (text, contentType, base64) => {
		expect(splitDataUrl(text)).toEqual({ contentType, base64 });
	});

	it.each(["", "data:text/plain,abc", "https://host.test/a;base64,YWJj", "data:a,b;base64,YWJj"])(
		"%j is none with base64",
		(text) => {
			expect(splitDataUrl(text)).toBeUndefined();
		},
	);
});
