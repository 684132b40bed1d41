/**
 * Paints hills under a sky. Flat rows and long runs of one colour on purpose: they cost little to compute and next to
 * nothing to compress, and a Worker pays for both.
 */
import { mix, type Rgb } from "./colours.ts";
import type { Palette } from "./palette.ts";

export interface LandscapeSize {
	width: number;
	height: number;
	/** Ranges of hills, one before the other. */
	ranges: number;
}

interface Canvas {
	width: number;
	height: number;
	rgb: Uint8Array;
}

/** Red, green, blue, row by row, 8 bits each. */
export function paintLandscape(
	{ width, height, ranges }: LandscapeSize,
	palette: Palette,
	random: () => number,
): Uint8Array {
	const canvas: Canvas = { width, height, rgb: new Uint8Array(width * height * 3) };
	paintSky(canvas, palette);
	if (palette.night) paintStars(canvas, random);
	paintLight(canvas, palette, random);
	if (!palette.night) paintClouds(canvas, palette, random);
	for (let range = 0; range < ranges; range++) {
		const nearness = ranges === 1 ? 1 : range / (ranges - 1);
		paintHills(canvas, mix(palette.hillFar, palette.hillNear, nearness), nearness, random);
	}
	return canvas.rgb;
}

/** `cover`: 0 to 1, how much of the pixel is painted over. */
function paint({ rgb }: Canvas, offset: number, colour: Rgb, cover: number): void {
	if (cover >= 1) {
		rgb[offset] = colour[0];
		rgb[offset + 1] = colour[1];
		rgb[offset + 2] = colour[2];
		return;
	}
	rgb[offset] = (rgb[offset] ?? 0) * (1 - cover) + colour[0] * cover;
	rgb[offset + 1] = (rgb[offset + 1] ?? 0) * (1 - cover) + colour[1] * cover;
	rgb[offset + 2] = (rgb[offset + 2] ?? 0) * (1 - cover) + colour[2] * cover;
}

function paintSky(canvas: Canvas, { skyTop, skyLow }: Palette): void {
	const { width, height, rgb } = canvas;
	const horizon = height * 0.65;
	for (let y = 0; y < height; y++) {
		const start = y * width * 3;
		const colour = mix(skyTop, skyLow, Math.min(1, y / horizon));
		for (let x = 0; x < width; x++) paint(canvas, start + x * 3, colour, 1);
		if (y < horizon) continue;
		// Below the horizon every row is the same.
		for (let next = y + 1; next < height; next++) rgb.copyWithin(next * width * 3, start, start + width * 3);
		return;
	}
}

interface Disc {
	x: number;
	y: number;
	radius: number;
	colour: Rgb;
	opacity: number;
}

function paintDisc(canvas: Canvas, { x, y, radius, colour, opacity }: Disc): void {
	const { width, height } = canvas;
	const top = Math.max(0, Math.floor(y - radius));
	const bottom = Math.min(height - 1, Math.ceil(y + radius));
	const left = Math.max(0, Math.floor(x - radius));
	const right = Math.min(width - 1, Math.ceil(x + radius));
	for (let row = top; row <= bottom; row++)
		for (let column = left; column <= right; column++) {
			// Soft over the last pixel of the edge.
			const inside = radius + 0.5 - Math.hypot(column + 0.5 - x, row + 0.5 - y);
			if (inside > 0) paint(canvas, (row * width + column) * 3, colour, Math.min(1, inside) * opacity);
		}
}

function paintStars(canvas: Canvas, random: () => number): void {
	const { width, height } = canvas;
	const size = Math.min(width, height);
	for (let star = 0; star < 60; star++)
		paintDisc(canvas, {
			x: random() * width,
			y: random() * height * 0.6,
			radius: size * (0.0012 + 0.0022 * random()),
			colour: [255, 250, 235],
			opacity: 0.4 + 0.6 * random(),
		});
}

function paintLight(canvas: Canvas, { light }: Palette, random: () => number): void {
	const { width, height } = canvas;
	const radius = Math.min(width, height) * (0.06 + 0.05 * random());
	const place = { x: width * (0.18 + 0.64 * random()), y: height * (0.16 + 0.24 * random()), colour: light };
	for (const halo of [3.2, 2.3, 1.6]) paintDisc(canvas, { ...place, radius: radius * halo, opacity: 0.14 });
	paintDisc(canvas, { ...place, radius, opacity: 1 });
}

function paintClouds(canvas: Canvas, { skyLow }: Palette, random: () => number): void {
	const { width, height } = canvas;
	const size = Math.min(width, height);
	const colour = mix(skyLow, [255, 255, 255], 0.7);
	for (let cloud = 0; cloud < 3; cloud++) {
		const x = random() * width;
		const foot = height * (0.1 + 0.3 * random());
		for (let puff = -3; puff <= 3; puff++) {
			// Large in the middle, and all standing on one line.
			const radius = size * (0.06 - 0.015 * Math.abs(puff)) * (0.8 + 0.4 * random());
			paintDisc(canvas, { x: x + puff * size * 0.032, y: foot - radius, radius, colour, opacity: 1 });
		}
	}
}

/** One range: three waves added, higher and bluer far away, lower and stronger near by. */
function paintHills(canvas: Canvas, colour: Rgb, nearness: number, random: () => number): void {
	const { width, height } = canvas;
	const base = height * (0.52 + 0.36 * nearness);
	const waves = [1, 2.3, 4.7].map((frequency) => ({
		turns: frequency * (0.6 + 0.8 * random()),
		phase: random() * 2 * Math.PI,
		swell: (height * 0.075 * (0.6 + 0.6 * random())) / frequency,
	}));
	const ridge = Float64Array.from({ length: width }, (_, x) =>
		waves.reduce(
			(top, { turns, phase, swell }) => top + swell * Math.sin((x / width) * turns * 2 * Math.PI + phase),
			base,
		),
	);
	const highest = ridge.reduce((least, top) => Math.min(least, top), height);
	for (let y = Math.max(0, Math.floor(highest)); y < height; y++) {
		const shade = mix(colour, [0, 0, 0], Math.min(0.3, (0.5 * (y - highest)) / height));
		for (let x = 0; x < width; x++) {
			const cover = y + 1 - (ridge[x] ?? height);
			if (cover > 0) paint(canvas, (y * width + x) * 3, shade, cover);
		}
	}
}
