import fc from "fast-check";
import { decode as decodePng, encode as encodePng } from "fast-png";
import { decode as decodeJpeg } from "jpeg-js";
import { describe, expect, it } from "vitest";
import { describeImage } from "../../../../src/backends/simulator/media/describe-image.ts";
import { textToImage } from "../../../../src/backends/simulator/media/text-to-image.ts";
import type { ImageInput } from "../../../../src/tasks/images.ts";
import { RED_SQUARE } from "./fixtures.ts";

const input = (changes: Partial<ImageInput> = {}): ImageInput => ({
	prompt: "a lighthouse on a cliff",
	width: 64,
	height: 48,
	images: [],
	format: "png",
	...changes,
});

const plain = (width: number, height: number, [red, green, blue]: readonly [number, number, number]) => ({
	bytes: new Uint8Array(
		encodePng({
			width,
			height,
			channels: 3,
			data: new Uint8Array(width * height * 3).map((_, i) => [red, green, blue][i % 3] ?? 0),
		}),
	),
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
		expect(decodePng(bytes, { checkCrc: true })).toMatchObject({ width, height, channels: 3, depth: 8 });
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
			formatAsRGBA: false,
		}).data;
		const difference = png.reduce((sum, value, i) => sum + Math.abs(value - (jpeg[i] ?? 0)), 0) / png.length;
		expect(difference).toBeLessThan(6);
	});

	it("names its maker and not its prompt", async () => {
		const prompt = "a secret recipe";
		const { bytes } = await textToImage(input({ prompt }));
		expect(decodePng(bytes).text).toEqual({ Software: "Ganglion simulator" });
		const jpeg = await textToImage(input({ prompt, format: "jpeg" }));
		expect(decodeJpeg(jpeg.bytes, { useTArray: true }).comments).toEqual(["Ganglion simulator"]);
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
		["an image that cannot be decoded", { images: [{ bytes: RED_SQUARE.webp }] }],
		["a mask", { mask: { bytes: RED_SQUARE.palettePng } }],
	])("depends on %s", async (_, changes) => {
		expect(await pixels(changes)).not.toEqual(await pixels({}));
	});

	it.each(["red", "orange", "green", "blue", "purple"])("of something %s is mostly so", async (colour) => {
		for (const seed of [1, 2, 3]) {
			const image = await textToImage(input({ prompt: `a ${colour} thing`, width: 256, height: 256, seed }));
			const { description } = await describeImage({ image });
			expect(description.split(",")[2]).toContain(colour);
		}
	});

	it("leaves out a colour of the negative prompt", async () => {
		const image = await textToImage(
			input({ prompt: "red and blue", negative_prompt: "red", width: 256, height: 256 }),
		);
		const [sentence] = (await describeImage({ image })).description.split(".");
		expect(sentence).toContain("blue");
		expect(sentence).not.toMatch(/red|pink|purple/);
	});

	it("is dark at night", async () => {
		const image = await textToImage(input({ prompt: "a forest at night", width: 128, height: 128 }));
		expect((await describeImage({ image })).description).toContain(", dark.");
	});
});

describe("from an image", () => {
	const green = plain(20, 20, [0, 200, 0]);

	it("keeps all of it at strength 0, less the higher the strength", async () => {
		const distances: number[] = [];
		for (const strength of [0, 0.3, 0.7, 1]) {
			const data = await pixels({ images: [green], strength });
			distances.push(data.reduce((sum, value, i) => sum + Math.abs(value - ([0, 200, 0][i % 3] ?? 0)), 0));
		}
		expect(distances[0]).toBe(0);
		expect(distances).toEqual([...distances].sort((a, b) => a - b));
		expect(new Set(distances).size).toBe(4);
	});

	it("paints where the mask is white alone", async () => {
		const half = new Uint8Array(10 * 10).map((_, i) => (i % 10 < 5 ? 0 : 255));
		const mask = { bytes: new Uint8Array(encodePng({ width: 10, height: 10, data: half, channels: 1 })) };
		const data = await pixels({ images: [green], mask, strength: 1, width: 40, height: 20 });
		const at = (x: number, y: number) => [...data.subarray((y * 40 + x) * 3, (y * 40 + x) * 3 + 3)];
		for (const y of [0, 10, 19]) {
			expect(at(0, y)).toEqual([0, 200, 0]);
			expect(at(19, y)).toEqual([0, 200, 0]);
			expect(at(20, y)).not.toEqual([0, 200, 0]);
			expect(at(39, y)).not.toEqual([0, 200, 0]);
		}
	});

	it("refuses one that is none, by its place", async () => {
		const images = [green, { bytes: Uint8Array.of(1, 2, 3) }];
		await expect(textToImage(input({ images }))).rejects.toMatchObject({
			code: 3030,
			description: "Invalid input image[1]: unable to decode image file",
		});
		await expect(textToImage(input({ mask: { bytes: new Uint8Array() } }))).rejects.toMatchObject({
			description: "Invalid input mask: unable to decode image file",
		});
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
