import fc from "fast-check";
import { encode as encodePng } from "fast-png";
import { describe, expect, it } from "vitest";
import { detectObjects } from "../../../../src/backends/simulator/media/detect-objects.ts";
import { RED_SQUARE } from "./fixtures.ts";

interface Rectangle {
	x: number;
	y: number;
	width: number;
	height: number;
	colour: [number, number, number];
}

function canvas(width: number, height: number, rectangles: Rectangle[]) {
	const data = new Uint8Array(width * height * 3).fill(255);
	for (const { x, y, width: across, height: down, colour } of rectangles)
		for (let row = y; row < Math.min(height, y + down); row++)
			for (let column = x; column < Math.min(width, x + across); column++)
				data.set(colour, (row * width + column) * 3);
	return { bytes: new Uint8Array(encodePng({ width, height, data, channels: 3 })) };
}

const two = canvas(640, 480, [
	{ x: 100, y: 150, width: 200, height: 120, colour: [220, 20, 20] },
	{ x: 400, y: 300, width: 80, height: 90, colour: [150, 210, 255] },
]);

it("finds the regions that differ from the border, the strongest first", async () => {
	const { objects, width, height } = await detectObjects({ image: two });
	expect({ width, height }).toEqual({ width: 640, height: 480 });
	expect(objects.map(({ label }) => label)).toEqual(["red region", "blue region"]);
	const [red, blue] = objects;
	// A cell is 10 by 7.5 pixels here.
	expect(red?.box).toEqual({ xmin: 100, ymin: 150, xmax: 300, ymax: 270 });
	expect(Math.abs((blue?.box.xmin ?? 0) - 400)).toBeLessThanOrEqual(10);
	expect(Math.abs((blue?.box.ymax ?? 0) - 390)).toBeLessThanOrEqual(8);
	expect(red?.score).toBeGreaterThan(blue?.score ?? 1);
	expect(red?.score).toBeLessThanOrEqual(1);
});

it("finds an exact box in a small picture of another maker", async () => {
	const { objects } = await detectObjects({ image: { bytes: RED_SQUARE.interlacedPng } });
	expect(objects).toEqual([
		{ label: "red region", score: expect.any(Number), box: { xmin: 4, ymin: 4, xmax: 12, ymax: 12 } },
	]);
});

describe("does as it is told", () => {
	it("target", async () => {
		const { objects } = await detectObjects({ image: two, target: "apple" });
		expect(objects.map(({ label }) => label)).toEqual(["apple", "apple"]);
	});

	it.each([0, 1, 2])("max_objects %i", async (max_objects) => {
		expect((await detectObjects({ image: two, max_objects })).objects).toHaveLength(max_objects);
	});
});

it("finds nothing in a plain picture", async () => {
	expect(await detectObjects({ image: canvas(50, 50, []) })).toEqual({ objects: [], width: 50, height: 50 });
});

it("gives the whole of a picture that it cannot decode, with little confidence", async () => {
	expect(await detectObjects({ image: { bytes: RED_SQUARE.avif } })).toEqual({
		objects: [{ label: "image", score: 0.1, box: { xmin: 0, ymin: 0, xmax: 24, ymax: 16 } }],
		width: 24,
		height: 16,
	});
});

it("keeps every box inside the picture, and not empty", async () => {
	const side = fc.integer({ min: 1, max: 90 });
	const rectangle = fc.record({
		x: fc.nat(80),
		y: fc.nat(80),
		width: side,
		height: side,
		colour: fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)),
	});
	await fc.assert(
		fc.asyncProperty(side, side, fc.array(rectangle, { maxLength: 5 }), async (width, height, rectangles) => {
			const { objects } = await detectObjects({ image: canvas(width, height, rectangles) });
			for (const { box, score } of objects) {
				expect(box.xmin).toBeGreaterThanOrEqual(0);
				expect(box.ymin).toBeGreaterThanOrEqual(0);
				expect(box.xmax).toBeLessThanOrEqual(width);
				expect(box.ymax).toBeLessThanOrEqual(height);
				expect(box.xmax).toBeGreaterThan(box.xmin);
				expect(box.ymax).toBeGreaterThan(box.ymin);
				expect(score).toBeGreaterThan(0.5);
				expect(score).toBeLessThanOrEqual(1);
			}
		}),
		{ numRuns: 60 },
	);
});
