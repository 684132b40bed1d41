import { expect, it } from "vitest";
import {
	captionPrompt,
	describedBy,
	imageFile,
	imageIn,
	imageTypeOf,
	imageUrl,
	readableSizeOf,
} from "../../src/backends/images.ts";
import { callOf, eventStream } from "./upstream.ts";

const PNG = Uint8Array.fromBase64(
	"iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC",
);
const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0);
const UNKNOWN = Uint8Array.of(1, 2, 3);

it.each([
	["its bytes", { bytes: JPEG, contentType: "image/png" }, "image/jpeg", "a.jpg"],
	["its declared type", { bytes: UNKNOWN, contentType: "image/webp" }, "image/webp", "a.webp"],
	["an unknown declared type", { bytes: UNKNOWN, contentType: "image/x-own" }, "image/x-own", "a.png"],
	["PNG", { bytes: UNKNOWN }, "image/png", "a.png"],
])("the type of a file is that of %s", (_, image, type, name) => {
	expect(imageTypeOf(image)).toBe(type);
	const file = imageFile(image, "a");
	expect([file.name, file.type, file.size]).toEqual([name, type, image.bytes.length]);
	expect(imageUrl(image)).toBe(`data:${type};base64,${image.bytes.toBase64()}`);
});

it("a reply has an image only as base64 of one", () => {
	expect(imageIn(JPEG.toBase64())).toEqual({ bytes: JPEG, contentType: "image/jpeg" });
	for (const base64 of ["", "?", UNKNOWN.toBase64(), btoa("RIFF....WAVE")])
		expect(imageIn(base64)).toBeUndefined();
});

it("a file without a readable size is refused", () => {
	expect(readableSizeOf({ bytes: PNG })).toEqual({ width: 2, height: 1 });
	expect(() => readableSizeOf({ bytes: UNKNOWN })).toThrow(expect.objectContaining({ code: 3030 }));
});

it("the request of a description has a prompt of its own unless the caller sends one", () => {
	const image = { type: "image_url", image_url: { url: "data:image/jpeg;base64,/9j/4A==" } };
	expect(captionPrompt({ bytes: JPEG })).toEqual([
		{ type: "text", text: "Generate a caption for this image" },
		image,
	]);
	expect(captionPrompt({ bytes: JPEG }, "Which animal?")).toEqual([
		{ type: "text", text: "Which animal?" },
		image,
	]);
});

it("a description has no white space around it, and is not empty", () => {
	const call = callOf(() => eventStream(""));
	const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
	expect(describedBy(" a cat\n", usage, call)).toEqual({ description: "a cat", usage });
	expect(describedBy("a cat", null, call)).toEqual({ description: "a cat" });
	for (const text of [" \n", "", null, undefined])
		expect(() => describedBy(text, usage, call)).toThrow(
			expect.objectContaining({
				key: "executionFailed",
				description: expect.stringMatching(/answered with no text$/),
			}),
		);
});
