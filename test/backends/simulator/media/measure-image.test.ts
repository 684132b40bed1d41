import { describe, expect, it } from "vitest";
import { measureImage } from "../../../../src/backends/simulator/media/measure-image.ts";

/** A JPEG of 400 x 300 pixels whose frame has this marker (ITU-T T.81, table B.1), without its scan. */
const jpeg = (...segments: number[][]): Uint8Array => Uint8Array.from([0xff, 0xd8, ...segments.flat()]);
const frame = (marker: number): number[] => [
	0xff,
	marker,
	0,
	11,
	8,
	300 >> 8,
	300 & 0xff,
	400 >> 8,
	400 & 0xff,
	1,
];

describe("measureImage", () => {
	it.each([
		["a baseline frame", 0xc0],
		["a progressive frame", 0xc2],
		["a frame with arithmetic coding", 0xc9],
	])("reads the size of a JPEG with %s", (_, marker) => {
		expect(measureImage(jpeg(frame(marker)))).toEqual({ format: "JPEG", width: 400, height: 300 });
	});

	it("refuses a JPEG that ends before its frame", () => {
		const ended = jpeg([0xff, 0xd9, 0, 2], frame(0xc0));
		expect(() => measureImage(ended)).toThrow("Invalid input image[0]: unable to decode image file");
	});
});
