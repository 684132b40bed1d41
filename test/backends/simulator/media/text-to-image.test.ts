import fc from "fast-check";
import { decode as decodePng } from "fast-png";
import { decode as decodeJpeg } from "jpeg-js";
import { describe, expect, it } from "vitest";
import { textToImage } from "../../../../src/backends/simulator/media/text-to-image.ts";
import type { ImageInput } from "../../../../src/tasks/text-to-image/index.ts";
import { RED_SQUARE } from "./fixtures.ts";

const input = (changes: Partial<ImageInput> = {}): ImageInput => ({
	prompt: "a lighthouse on a cliff",
	width: 64,
	height: 48,
	images: [],
	format: "png",
	...changes,
});

const pixels = async (changes: Partial<ImageInput>) =>
	new Uint8Array(decodePng((await textToImage(input(changes))).bytes).data);

describe("the file", () => {
	it.each([
		[1, 1],
		[1, 300],
		[257, 131],
		[1024, 768],
	])("is a PNG of %i by %i", async (width, height) => {
		const { bytes, contentType } = await textToImage(input({ width, height }));
		expect(contentType).toBe("image/png");
		expect(decodePng(bytes, { checkCrc: true })).toMatchObject({ width, height, channels: 4, depth: 8 });
	});

	it.each([
		[1, 1],
		[257, 131],
		[1024, 768],
	])("is a JPEG of %i by %i", async (width, height) => {
		const { bytes, contentType } = await textToImage(input({ width, height, format: "jpeg" }));
		expect(contentType).toBe("image/jpeg");
		expect(decodeJpeg(bytes, { useTArray: true })).toMatchObject({ width, height });
	});

	it("has the same picture as PNG and as JPEG", async () => {
		const png = await pixels({});
		const jpeg = decodeJpeg((await textToImage(input({ format: "jpeg" }))).bytes, {
			useTArray: true,
		}).data;
		const difference = png.reduce((sum, value, i) => sum + Math.abs(value - (jpeg[i] ?? 0)), 0) / png.length;
		expect(difference).toBeLessThan(6);
	});

	it("names the simulator and not the prompt", async () => {
		const prompt = "a secret recipe";
		const { bytes } = await textToImage(input({ prompt }));
		expect(decodePng(bytes).text).toEqual({
			Software: "Ganglion simulator",
			Comment: "Simulated by Ganglion: no model made this.",
			simulated: "true",
		});
		const jpeg = await textToImage(input({ prompt, format: "jpeg" }));
		expect(decodeJpeg(jpeg.bytes, { useTArray: true }).comments).toEqual([
			"Ganglion simulator",
			"Simulated by Ganglion: no model made this.",
		]);
		for (const file of [bytes, jpeg.bytes])
			expect(new TextDecoder("latin1").decode(file)).not.toContain("secret");
	});

	it("is the same bytes for the same input", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.record(
					{
						prompt: fc.string({ unit: "grapheme" }),
						negative_prompt: fc.string(),
						seed: fc.integer(),
						steps: fc.integer({ min: 1, max: 50 }),
						guidance: fc.double({ min: 0, max: 30, noNaN: true }),
						width: fc.integer({ min: 1, max: 40 }),
						height: fc.integer({ min: 1, max: 40 }),
					},
					{ requiredKeys: ["prompt", "width", "height"] },
				),
				async (changes) => {
					const first = await textToImage(input(changes));
					expect(await textToImage(input(structuredClone(changes)))).toEqual(first);
					expect(decodePng(first.bytes)).toMatchObject({ width: changes.width, height: changes.height });
				},
			),
			{ numRuns: 40 },
		);
	});
});

describe("the picture", () => {
	it.each<[string, Partial<ImageInput>]>([
		["the prompt", { prompt: "a lighthouse on a hill" }],
		["the negative prompt", { negative_prompt: "clouds" }],
		["the seed", { seed: 1 }],
		["the steps", { steps: 1 }],
		["the guidance", { guidance: 1 }],
		["an image", { images: [{ bytes: RED_SQUARE.palettePng }] }],
		["an image of another format", { images: [{ bytes: RED_SQUARE.webp }] }],
		["a mask", { mask: { bytes: RED_SQUARE.palettePng } }],
	])("depends on %s", async (_, changes) => {
		expect(await pixels(changes)).not.toEqual(await pixels({}));
	});

	it("has the word SIMULATED in its lower left corner", async () => {
		const width = 128;
		const data = await pixels({ width, height: 32 });
		const white = (x: number, y: number) =>
			data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3).every((value) => value === 255);
		const rows = Array.from({ length: 32 }, (_, y) =>
			Array.from({ length: width }, (_, x) => (white(x, y) ? "#" : " "))
				.join("")
				.trimEnd(),
		);
		expect(rows.slice(0, 23).join("")).toBe("");
		expect(rows.slice(23)).toEqual([
			"   #### ##### #   # #   # #      ###  ##### ##### ####",
			"  #       #   ## ## #   # #     #   #   #   #     #   #",
			"  #       #   # # # #   # #     #   #   #   #     #   #",
			"   ###    #   # # # #   # #     #####   #   ####  #   #",
			"      #   #   #   # #   # #     #   #   #   #     #   #",
			"      #   #   #   # #   # #     #   #   #   #     #   #",
			"  ####  ##### #   #  ###  ##### #   #   #   ##### ####",
			"",
			"",
		]);
	});

	it("is opaque and dark except for the word", async () => {
		const data = await pixels({ width: 200, height: 100 });
		for (let at = 0; at < data.length; at += 4) {
			const [red = 0, green = 0, blue = 0, opacity] = data.subarray(at, at + 4);
			expect(opacity).toBe(255);
			expect(Math.max(red, green, blue) <= 127 || red + green + blue === 765).toBe(true);
		}
	});
});

it("rejects an invalid image by its position", async () => {
	const images = [{ bytes: RED_SQUARE.palettePng }, { bytes: Uint8Array.of(1, 2, 3) }];
	await expect(textToImage(input({ images }))).rejects.toMatchObject({
		code: 3030,
		description: "Invalid input image[1]: unable to decode image file",
	});
	await expect(textToImage(input({ mask: { bytes: new Uint8Array() } }))).rejects.toMatchObject({
		description: "Invalid input mask: unable to decode image file",
	});
});

it.each([
	[0, 64],
	[64, -1],
	[1.5, 64],
	[Number.NaN, 64],
	[100_000, 100_000],
])("refuses %d by %d", async (width, height) => {
	await expect(textToImage(input({ width, height }))).rejects.toMatchObject({ key: "invalidInput" });
});
