import fc from "fast-check";
import { encode as encodePng } from "fast-png";
import { encode as encodeJpeg } from "jpeg-js";
import { describe, expect, it } from "vitest";
import { readJpegFacts } from "../../../../src/backends/simulator/media/jpeg-scan.ts";
import { openPicture, type Picture } from "../../../../src/backends/simulator/media/picture.ts";
import { AiError } from "../../../../src/errors.ts";
import { deflate, pngHeader, pngOf, RED_SQUARE } from "./fixtures.ts";

function pixel({ thumbnail }: Picture, x: number, y: number): number[] {
	if (!thumbnail) throw new Error("measured only");
	return [...thumbnail.rgb.subarray((y * thumbnail.width + x) * 3).subarray(0, 3)];
}

const png = (image: Parameters<typeof encodePng>[0]) => new Uint8Array(encodePng(image));

describe("decodes", () => {
	it.each(["interlacedPng", "palettePng"] as const)("%s to its exact colours", async (name) => {
		const picture = await openPicture(RED_SQUARE[name]);
		expect(picture).toMatchObject({ format: "PNG", width: 24, height: 16 });
		expect(pixel(picture, 0, 0)).toEqual([255, 255, 255]);
		expect(pixel(picture, 4, 4)).toEqual([0xd0, 0x20, 0x20]);
		expect(pixel(picture, 11, 11)).toEqual([0xd0, 0x20, 0x20]);
		expect(pixel(picture, 12, 12)).toEqual([255, 255, 255]);
	});

	it("16-bit gray", async () => {
		const picture = await openPicture(RED_SQUARE.grayPng);
		const [red, green, blue] = pixel(picture, 8, 8);
		expect(pixel(picture, 0, 0)).toEqual([255, 255, 255]);
		expect([green, blue]).toEqual([red, red]);
		expect(red).toBeLessThan(140);
	});

	it("2-bit gray", async () => {
		// Pixels 0, 1, 2, 3 packed into one byte, after the row's filter byte.
		const bytes = pngOf(
			pngHeader(4, 1, { depth: 2, colourType: 0 }),
			["IDAT", await deflate(Uint8Array.of(0, 0b00011011))],
			["IEND", []],
		);
		const picture = await openPicture(bytes);
		expect([0, 1, 2, 3].map((x) => pixel(picture, x, 0)[0])).toEqual([0, 85, 170, 255]);
	});

	it("what is transparent, as white", async () => {
		const data = Uint8Array.of(255, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 128);
		const picture = await openPicture(png({ width: 3, height: 1, data, channels: 4 }));
		expect(pixel(picture, 0, 0)).toEqual([255, 0, 0]);
		expect(pixel(picture, 1, 0)).toEqual([255, 255, 255]);
		expect(pixel(picture, 2, 0)).toEqual([127, 127, 127]);
	});

	it.each(["progressiveJpeg", "cmykJpeg"] as const)("%s", async (name) => {
		const picture = await openPicture(RED_SQUARE[name]);
		expect(picture).toMatchObject({ format: "JPEG", width: 24, height: 16 });
		const [red = 0, green = 0, blue = 0] = pixel(picture, 8, 8);
		expect(red).toBeGreaterThan(150);
		expect(Math.max(green, blue)).toBeLessThan(100);
	});

	it("large pictures to at most 512 pixels a side, averaged", async () => {
		const data = new Uint8Array(1500 * 30 * 3).map((_, i) => (Math.floor(i / 3) % 2 ? 255 : 0));
		const { thumbnail } = await openPicture(png({ width: 1500, height: 30, data, channels: 3 }));
		expect(thumbnail).toMatchObject({ width: 512, height: 10 });
		const mean = Array.from(thumbnail?.rgb ?? []).reduce((sum, value) => sum + value, 0) / (512 * 10 * 3);
		expect(mean).toBeCloseTo(127.5, -1);
	});
});

it.each([
	["gif", "GIF"],
	["webp", "WebP"],
	["avif", "AVIF"],
] as const)("measures %s", async (name, format) => {
	expect(await openPicture(RED_SQUARE[name])).toEqual({ format, width: 24, height: 16 });
});

it("measures an interlaced image of less than a byte a channel", async () => {
	expect(await openPicture(RED_SQUARE.interlacedPalettePng)).toEqual({
		format: "PNG",
		width: 24,
		height: 16,
	});
});

const refusal = (bytes: Uint8Array<ArrayBuffer>, name?: string): Promise<unknown> =>
	openPicture(bytes, name).catch((error: unknown) => error);

describe("refuses", () => {
	it.each([
		["nothing", new Uint8Array()],
		["text", new TextEncoder().encode("not an image, but a sentence")],
		["SVG", new TextEncoder().encode('<svg width="10" height="10"></svg>')],
		["a signature alone", RED_SQUARE.palettePng.slice(0, 8)],
		["a PNG cut off in its pixels", RED_SQUARE.interlacedPng.slice(0, 120)],
		["a JPEG without a frame", Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)],
		["a PNG of no width", pngOf(pngHeader(0, 5), ["IDAT", []], ["IEND", []])],
	])("%s", async (_, bytes) => {
		const error = await refusal(new Uint8Array(bytes));
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject({
			code: 3030,
			status: 400,
			description: "Invalid input image[0]: unable to decode image file",
		});
	});

	it("by the name that the caller knows", async () => {
		expect(await refusal(new Uint8Array(), "image[2]")).toMatchObject({
			description: "Invalid input image[2]: unable to decode image file",
		});
	});

	it("more than 50 megapixels, before it decodes them", async () => {
		const bytes = pngOf(pngHeader(10_000, 6_000), ["IDAT", [1, 2, 3]], ["IEND", []]);
		expect(await refusal(bytes)).toMatchObject({
			code: 8001,
			description: "The image has 60 megapixels; the simulator takes up to 50.",
		});
	});

	it("pixels that inflate to more than the header says", async () => {
		const bomb = await deflate(new Uint8Array(64 * 1024 * 1024));
		expect(bomb.length).toBeLessThan(100_000);
		expect(await refusal(pngOf(pngHeader(1, 1), ["IDAT", bomb], ["IEND", []]))).toMatchObject({ code: 3030 });
	});
});

it("never inflates a colour profile", async () => {
	const bomb = await deflate(new Uint8Array(64 * 1024 * 1024));
	const profile = [...new TextEncoder().encode("p"), 0, 0, ...bomb];
	const pixels = await deflate(Uint8Array.of(0, 10, 20, 30));
	const picture = await openPicture(
		pngOf(pngHeader(1, 1), ["iCCP", profile], ["IDAT", pixels], ["IEND", []]),
	);
	expect(pixel(picture, 0, 0)).toEqual([10, 20, 30]);
});

describe("of a JPEG", () => {
	const photo = new Uint8Array(
		encodeJpeg({ width: 40, height: 30, data: new Uint8Array(40 * 30 * 4).fill(90) }, 80).data,
	);

	it("counts the passes", () => {
		expect(readJpegFacts(photo)).toEqual({ width: 40, height: 30, scans: 1 });
		expect(readJpegFacts(RED_SQUARE.progressiveJpeg)?.scans).toBeGreaterThan(5);
	});

	it("does not decode one that makes more passes than a photograph does", async () => {
		// A scan of nothing: six bytes of header that make a decoder walk over the whole image.
		const scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0];
		const scans = new Uint8Array(200_000 * scan.length).map((_, i) => scan[i % scan.length] ?? 0);
		const bytes = new Uint8Array([...photo.subarray(0, -2), ...scans, 0xff, 0xd9]);
		expect(await openPicture(bytes)).toEqual({ format: "JPEG", width: 40, height: 30 });
	});

	it("looks at the preview that a camera left, where the photograph is too large", async () => {
		const frame = photo.findIndex((byte, i) => byte === 0xff && photo[i + 1] === 0xc0);
		const large = photo.slice();
		new DataView(large.buffer).setUint16(frame + 5, 6000);
		new DataView(large.buffer).setUint16(frame + 7, 8000);
		const exif = [...new TextEncoder().encode("Exif\0\0MM\0*"), ...RED_SQUARE.progressiveJpeg];
		const block = [0xff, 0xe1, (exif.length + 2) >> 8, (exif.length + 2) & 0xff, ...exif];
		expect(await openPicture(large)).toEqual({ format: "JPEG", width: 8000, height: 6000 });
		const picture = await openPicture(
			new Uint8Array([...large.subarray(0, 2), ...block, ...large.subarray(2)]),
		);
		expect(picture).toMatchObject({ width: 8000, height: 6000, thumbnail: { width: 24, height: 16 } });
		expect(pixel(picture, 8, 8)[0]).toBeGreaterThan(150);
	});

	it("refuses a second frame, whose size nobody has checked", () => {
		const frame = photo.findIndex((byte, i) => byte === 0xff && photo[i + 1] === 0xc0);
		const twice = [
			...photo.subarray(0, frame),
			...photo.subarray(frame, frame + 19),
			...photo.subarray(frame),
		];
		expect(readJpegFacts(new Uint8Array(twice))).toBeUndefined();
	});
});

/** A real file with bytes changed, or cut off. */
const damaged = fc
	.record({
		file: fc.constantFrom(...Object.values(RED_SQUARE)),
		changes: fc.array(fc.tuple(fc.nat(700), fc.integer({ min: 0, max: 255 })), {
			minLength: 1,
			maxLength: 8,
		}),
		length: fc.integer({ min: 0, max: 800 }),
	})
	.map(({ file, changes, length }) => {
		const bytes = file.slice();
		for (const [at, value] of changes) bytes[at % bytes.length] = value;
		return bytes.slice(0, length);
	});

it("opens damaged files or refuses them, and nothing else", async () => {
	await fc.assert(
		fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), async (bytes) => {
			const result = await refusal(new Uint8Array(bytes));
			if (result instanceof Error) expect(result).toBeInstanceOf(AiError);
			else expect(result).toHaveProperty("format");
		}),
		{ numRuns: 400 },
	);
});
