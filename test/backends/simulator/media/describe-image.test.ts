import { encode as encodePng } from "fast-png";
import { describe, expect, it } from "vitest";
import { classifyImage, describeImage } from "../../../../src/backends/simulator/media/describe-image.ts";
import { RED_SQUARE } from "./fixtures.ts";

const DISCLAIMER = "Ganglion's simulator measured it; no model has looked at what it shows.";

const sun = { bytes: encode(30, 60, (x) => (x < 12 ? [255, 255, 0] : [0, 0, 255])) };

function encode(width: number, height: number, colour: (x: number, y: number) => number[]) {
	const data = new Uint8Array(width * height * 3);
	for (let i = 0; i < width * height; i++) data.set(colour(i % width, Math.floor(i / width)), i * 3);
	return new Uint8Array(encodePng({ width, height, data, channels: 3 }));
}

describe("describes", () => {
	it.each([
		[
			"two colours",
			sun.bytes,
			"A 30 by 60 PNG image, in portrait format, mostly blue and yellow, of medium brightness.",
		],
		[
			"one colour",
			encode(8, 8, () => [5, 5, 5]),
			"An 8 by 8 PNG image, square, almost entirely black, dark.",
		],
		[
			"a picture",
			RED_SQUARE.interlacedPng,
			"A 24 by 16 PNG image, in landscape format, almost entirely white and red, bright.",
		],
		[
			"what it cannot decode",
			RED_SQUARE.webp,
			"A 24 by 16 WebP image, in landscape format; its colours were not decoded.",
		],
	])("%s", async (_, bytes, sentence) => {
		expect(await describeImage({ image: { bytes } })).toEqual({ description: `${sentence} ${DISCLAIMER}` });
	});

	it("in no more words than max_tokens", async () => {
		const { description } = await describeImage({ image: sun, max_tokens: 6 });
		expect(description).toBe("A 30 by 60 PNG image,");
	});
});

describe("classifies", () => {
	it("by area, five labels, best first, adding up to one", async () => {
		const { labels } = await classifyImage({ image: sun });
		expect(labels).toHaveLength(5);
		expect(labels.slice(0, 2).map(({ label }) => label)).toEqual(["blue", "yellow"]);
		expect(labels[0]?.score).toBeCloseTo(0.61 / 1.05, 6);
		expect(labels[1]?.score).toBeCloseTo(0.41 / 1.05, 6);
		expect(labels.map(({ score }) => score)).toEqual(labels.map(({ score }) => score).sort((a, b) => b - a));
		expect(labels.reduce((sum, { score }) => sum + score, 0)).toBeCloseTo(1, 10);
	});

	it("what it cannot decode by kind and shape", async () => {
		expect(await classifyImage({ image: { bytes: RED_SQUARE.gif } })).toEqual({
			labels: [
				{ label: "GIF image", score: 0.6 },
				{ label: "landscape image", score: 0.4 },
			],
		});
	});
});
