import { describe, expect, it } from "vitest";
import {
	classifyImage,
	describeImage,
	detectObjects,
} from "../../../../src/backends/simulator/media/image-input-tasks.ts";
import { fromBase64, pngHeader, pngOf, RED_SQUARE } from "./fixtures.ts";

const image = { bytes: RED_SQUARE.palettePng };

describe("a description", () => {
	it.each([
		["PNG", RED_SQUARE.interlacedPng],
		["JPEG", RED_SQUARE.progressiveJpeg],
		["JPEG", RED_SQUARE.cmykJpeg],
		["GIF", RED_SQUARE.gif],
		["WebP", RED_SQUARE.webp],
		["AVIF", RED_SQUARE.avif],
	])("says format and size, and that it is simulated: %s", async (format, bytes) => {
		expect(await describeImage({ image: { bytes } })).toEqual({
			description: `Simulated description of a ${format} image of 24 by 16 pixels: no model looked at it.`,
		});
	});

	it("ends at max_tokens", async () => {
		expect((await describeImage({ image, max_tokens: 2 })).description).toBe("Simulated");
	});
});

it("has labels of the simulator with equal scores", async () => {
	expect(await classifyImage({ image })).toEqual({
		labels: [1, 2, 3, 4, 5].map((nth) => ({ label: `simulated label ${nth}`, score: 0.2 })),
	});
});

describe("the detected object", () => {
	const box = { xmin: 6, ymin: 4, xmax: 18, ymax: 12 };

	it("is a box in the middle", async () => {
		expect(await detectObjects({ image })).toEqual({
			objects: [{ label: "simulated object", score: 0.5, box }],
			width: 24,
			height: 16,
		});
		expect((await detectObjects({ image, target: "cat" })).objects[0]?.label).toBe("simulated cat");
		expect((await detectObjects({ image, max_objects: 0 })).objects).toEqual([]);
	});
});

describe("refuses", () => {
	it.each<[string, Uint8Array]>([
		["nothing", new Uint8Array()],
		["text", new TextEncoder().encode("<svg width='1' height='1'/>")],
		["a JPEG that ends early", new Uint8Array(RED_SQUARE.progressiveJpeg.subarray(0, 100))],
		[
			"a JPEG of empty segments",
			Uint8Array.from({ length: 4_000_000 }, (_, at) => [0xff, at === 1 ? 0xd8 : 0xe0, 0, 2][at % 4] ?? 0),
		],
		["a PNG without a size", pngOf(pngHeader(0, 4))],
		["a GIF without a size", fromBase64("R0lGODlhAAAAAA==")],
	])("%s", async (_, bytes) => {
		const started = performance.now();
		await expect(describeImage({ image: { bytes: new Uint8Array(bytes) } })).rejects.toMatchObject({
			code: 3030,
		});
		expect(performance.now() - started).toBeLessThan(500);
	});

	it("more than 50 megapixels", async () => {
		await expect(describeImage({ image: { bytes: pngOf(pngHeader(10_000, 5_001)) } })).rejects.toMatchObject({
			code: 8001,
			description: "The image has 50 megapixels; the simulator takes up to 50.",
		});
	});
});
