import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../../src/media/base64.ts";
import { read, SCOUT, VISION } from "./chat.ts";

/** The signature of a PNG. */
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xff, 0xc2);
const URI = `data:image/png;base64,${encodeBase64(PNG)}`;
const part = { type: "image_url", image_url: { url: URI } };

describe("the image field", () => {
	it.each([
		["bytes", [...PNG]],
		["base64", encodeBase64(PNG)],
		["a data URI", URI],
		["a data URI that names another type", URI.replace("image/png", "image/jpeg")],
		["a string with a character for each byte", String.fromCharCode(...PNG)],
	])("is read from %s", (_, image) => {
		expect(read(VISION, { prompt: "What is this?", image }).input.messages).toEqual([
			{ role: "user", content: [{ type: "text", text: "What is this?" }, part] },
		]);
	});

	it("becomes a part of the last user message", () => {
		const messages = [
			{ role: "user", content: "Hi" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: { type: "text", text: "And this?" } },
			{ role: "assistant", content: "Hm" },
		];
		expect(read(VISION, { messages, image: [...PNG] }).input.messages).toEqual([
			messages[0],
			messages[1],
			{ role: "user", content: [{ type: "text", text: "And this?" }, part] },
			messages[3],
		]);
		const system = { role: "system", content: "Describe." };
		expect(read(VISION, { messages: [system], image: [...PNG] }).input.messages).toEqual([
			system,
			{ role: "user", content: [part] },
		]);
	});

	it.each([
		[[1, 2, 3], "3030: Invalid input image[0]: unable to decode image file"],
		["AAA=A", "5004: Invalid data type for base64 input: string"],
		["AAAA", "3030: Invalid input image[0]: unable to decode image file"],
		["not an image: Ω", "3030: Invalid input image[0]: unable to decode image file"],
		["https://example.com/a.png", "5006: Error: '/image' must be the image itself, not its address"],
		[[256], "'/image/0' must be <= 255"],
	])("is refused: %#", (image, message) => {
		expect(() => read(VISION, { prompt: "What is this?", image })).toThrowError(message);
	});

	it("is checked in linear time", () => {
		const image = `A${" ".repeat(200_000)}!`;
		expect(() => read(VISION, { prompt: "What is this?", image })).toThrowError("3030: ");
	});

	it("is refused with a raw prompt", () => {
		expect(() => read(VISION, { prompt: "x", raw: true, image: [...PNG] })).toThrowError(
			"8001: Invalid input: image cannot be combined with raw",
		);
	});

	it("is dropped for other models", () => {
		expect(read(SCOUT, { prompt: "x", image: [...PNG] }).input.messages).toEqual([
			{ role: "user", content: "x" },
		]);
	});
});

describe("images in messages", () => {
	const content = (url: string) => [
		{ type: "text", text: "What is this?" },
		{ type: "image_url", image_url: { url } },
	];

	it("must be data URIs", () => {
		expect(read(SCOUT, { messages: [{ role: "user", content: content(URI) }] }).input.messages).toEqual([
			{ role: "user", content: content(URI) },
		]);
		expect(() =>
			read(SCOUT, { messages: [{ role: "user", content: content("http://a/b.png") }] }),
		).toThrowError("5006: Error: '/messages/0/content/1/image_url/url' must be a data: URI");
	});
});
