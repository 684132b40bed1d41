import fc from "fast-check";
import { expect, it } from "vitest";
import {
	COLOUR_NAMES,
	fromHsl,
	mix,
	nameOf,
	toHsl,
} from "../../../../src/backends/simulator/media/colours.ts";

it.each([
	[[0, 0, 0], "black"],
	[[255, 255, 255], "white"],
	[[128, 130, 127], "gray"],
	[[208, 32, 32], "red"],
	[[255, 140, 0], "orange"],
	[[110, 70, 30], "brown"],
	[[240, 220, 60], "yellow"],
	[[34, 139, 34], "green"],
	[[0, 200, 210], "cyan"],
	[[30, 80, 200], "blue"],
	[[130, 50, 200], "purple"],
	[[255, 182, 193], "pink"],
] as const)("calls %j %s", ([red, green, blue], name) => {
	expect(nameOf([red, green, blue])).toBe(name);
});

const channel = fc.integer({ min: 0, max: 255 });

it("names every colour, and turns it into hue, saturation and lightness and back", () => {
	fc.assert(
		fc.property(fc.tuple(channel, channel, channel), (colour) => {
			expect(COLOUR_NAMES).toContain(nameOf(colour));
			const { hue, saturation, lightness } = toHsl(colour);
			const back = fromHsl(hue, saturation, lightness);
			for (const i of [0, 1, 2] as const) expect(back[i]).toBeCloseTo(colour[i], 6);
		}),
	);
});

it("mixes", () => {
	expect(mix([0, 100, 200], [100, 100, 0], 0.25)).toEqual([25, 100, 150]);
});
