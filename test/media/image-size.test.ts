import { describe, expect, it } from "vitest";
import { hasTooManySegments, imageSizeOf } from "../../src/media/image-size.ts";

const segment = (marker: number, ...content: number[]): number[] => [
	0xff,
	marker,
	(content.length + 2) >> 8,
	(content.length + 2) & 0xff,
	...content,
];
/** 300 rows of 400 pixels. */
const FRAME = segment(0xc2, 8, 1, 44, 1, 144, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1);
const jpeg = (...segments: number[][]): Uint8Array => Uint8Array.from([0xff, 0xd8, ...segments.flat()]);
const APPLICATION = segment(0xe5);

describe("the size of a JPEG", () => {
	it("is in its frame, behind other segments", () => {
		const bytes = jpeg(segment(0xe0, 1, 2, 3), segment(0xc4, 9, 9), FRAME);
		expect(imageSizeOf(bytes)).toEqual({ width: 400, height: 300 });
	});

	it("is found behind bytes that fill the space before a marker", () => {
		expect(imageSizeOf(jpeg(segment(0xe0), [0xff, 0xff, 0xff], FRAME))).toEqual({ width: 400, height: 300 });
	});

	it("is found behind 1,000 segments, and not behind more", () => {
		const behind = (count: number) => jpeg(...Array.from({ length: count }, () => APPLICATION), FRAME);
		expect(imageSizeOf(behind(1_000))).toEqual({ width: 400, height: 300 });
		expect(hasTooManySegments(behind(1_000))).toBe(false);
		expect(imageSizeOf(behind(1_002))).toBeUndefined();
		expect(hasTooManySegments(behind(1_002))).toBe(true);
	});

	it.each([
		["a size of nothing", jpeg(segment(0xc0, 8, 0, 0, 0, 0, 3))],
		["a scan before the frame", jpeg(segment(0xda, 0, 0), FRAME)],
		["no marker where one must be", jpeg([0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0])],
		["a cut header", jpeg(FRAME).subarray(0, 9)],
	])("is unknown: %s", (_, bytes) => {
		expect(imageSizeOf(bytes)).toBeUndefined();
	});
});

it("reads the size of other formats", () => {
	const png = [
		0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 2, 0, 0, 0, 1, 0,
	];
	expect(imageSizeOf(Uint8Array.from([...png, 8, 6, 0, 0, 0, 0, 0, 0, 0]))).toEqual({
		width: 512,
		height: 256,
	});
	expect(imageSizeOf(new TextEncoder().encode("no image"))).toBeUndefined();
});
