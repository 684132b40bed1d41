/** What can be said of a picture without knowing what it shows. */
import { COLOUR_NAMES, type ColourName, luminance, nameOf, type Rgb } from "./colours.ts";
import type { Thumbnail } from "./thumbnail.ts";

export interface Look {
	/** Every name, most frequent first. `share`: 0 to 1, of the picture's area; together 1. */
	colours: { name: ColourName; share: number }[];
	/** 0 (black) to 1 (white), on average. */
	brightness: number;
}

export function look({ rgb }: Thumbnail): Look {
	const counts = new Map<ColourName, number>(COLOUR_NAMES.map((name) => [name, 0]));
	let light = 0;
	for (let i = 0; i < rgb.length; i += 3) {
		const colour: Rgb = [rgb[i] ?? 0, rgb[i + 1] ?? 0, rgb[i + 2] ?? 0];
		const name = nameOf(colour);
		counts.set(name, (counts.get(name) ?? 0) + 1);
		light += luminance(colour);
	}
	const pixels = rgb.length / 3;
	const colours = [...counts].map(([name, count]) => ({ name, share: count / pixels }));
	return { colours: colours.sort((a, b) => b.share - a.share), brightness: light / pixels };
}

export type Orientation = "landscape" | "portrait" | "square";

export const orientationOf = ({ width, height }: { width: number; height: number }): Orientation =>
	width > height ? "landscape" : width < height ? "portrait" : "square";
