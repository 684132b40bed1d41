/** Colours, their arithmetic and their English names. */

/** Red, green, blue, 0 to 255 each. */
export type Rgb = readonly [red: number, green: number, blue: number];

export const COLOUR_NAMES = [
	"black",
	"white",
	"gray",
	"red",
	"orange",
	"brown",
	"yellow",
	"green",
	"cyan",
	"blue",
	"purple",
	"pink",
] as const;
export type ColourName = (typeof COLOUR_NAMES)[number];

export const mix = (from: Rgb, to: Rgb, share: number): Rgb => [
	from[0] + (to[0] - from[0]) * share,
	from[1] + (to[1] - from[1]) * share,
	from[2] + (to[2] - from[2]) * share,
];

/** Rec. 709 weights, 0 to 1. */
export const luminance = ([red, green, blue]: Rgb): number =>
	(0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;

/** Hue in degrees; saturation and lightness 0 to 1. */
export function toHsl([red, green, blue]: Rgb): { hue: number; saturation: number; lightness: number } {
	const most = Math.max(red, green, blue);
	const least = Math.min(red, green, blue);
	const chroma = (most - least) / 255;
	const lightness = (most + least) / 510;
	if (chroma === 0) return { hue: 0, saturation: 0, lightness };
	const span = most - least;
	const sextant =
		most === red
			? ((green - blue) / span + 6) % 6
			: most === green
				? (blue - red) / span + 2
				: (red - green) / span + 4;
	return { hue: sextant * 60, saturation: chroma / (1 - Math.abs(2 * lightness - 1)), lightness };
}

export function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
	const reach = saturation * Math.min(lightness, 1 - lightness);
	const channel = (offset: number): number => {
		const turn = (offset + (((hue % 360) + 360) % 360) / 30) % 12;
		return 255 * (lightness - reach * Math.max(-1, Math.min(turn - 3, 9 - turn, 1)));
	};
	return [channel(0), channel(8), channel(4)];
}

const BLACK_BELOW_LIGHTNESS = 0.1;
const WHITE_ABOVE_LIGHTNESS = 0.93;
const GRAY_BELOW_CHROMA = 0.12;
const BROWN_BELOW_LIGHTNESS = 0.4;
const PINK_ABOVE_LIGHTNESS = 0.75;

export function nameOf(colour: Rgb): ColourName {
	const { hue, saturation, lightness } = toHsl(colour);
	const chroma = saturation * (1 - Math.abs(2 * lightness - 1));
	if (lightness < BLACK_BELOW_LIGHTNESS) return "black";
	if (chroma < GRAY_BELOW_CHROMA) return lightness > WHITE_ABOVE_LIGHTNESS ? "white" : "gray";
	if (hue < 15 || hue >= 345) return lightness > PINK_ABOVE_LIGHTNESS ? "pink" : "red";
	if (hue < 45) return lightness < BROWN_BELOW_LIGHTNESS ? "brown" : "orange";
	if (hue < 70) return "yellow";
	if (hue < 165) return "green";
	if (hue < 195) return "cyan";
	if (hue < 255) return "blue";
	return hue < 290 ? "purple" : "pink";
}
