/** Which colours a prompt asks for: the ones that it names, and where it names none, ones that follow from its words. */
import { fromHsl, mix, type Rgb, toHsl } from "./colours.ts";

export interface Palette {
	skyTop: Rgb;
	/** Where the sky meets the hills. */
	skyLow: Rgb;
	hillFar: Rgb;
	hillNear: Rgb;
	/** The sun, or at night the moon. */
	light: Rgb;
	night: boolean;
}

/** Words that stand for a colour. */
const WORD_COLOURS: ReadonlyMap<string, Rgb> = new Map([
	["red", [205, 40, 40]],
	["crimson", [170, 20, 50]],
	["rose", [225, 90, 120]],
	["apple", [200, 45, 40]],
	["fire", [220, 75, 25]],
	["lava", [215, 60, 20]],
	["orange", [235, 130, 30]],
	["sunset", [240, 120, 60]],
	["autumn", [200, 110, 40]],
	["brown", [120, 75, 40]],
	["wood", [130, 85, 50]],
	["earth", [115, 80, 50]],
	["coffee", [95, 60, 40]],
	["desert", [220, 175, 110]],
	["sand", [225, 190, 130]],
	["gold", [225, 175, 45]],
	["golden", [225, 175, 45]],
	["yellow", [240, 205, 50]],
	["sun", [245, 200, 70]],
	["lemon", [240, 225, 70]],
	["green", [50, 150, 70]],
	["forest", [35, 100, 60]],
	["grass", [80, 160, 60]],
	["tree", [60, 125, 65]],
	["trees", [60, 125, 65]],
	["jungle", [25, 110, 60]],
	["meadow", [110, 175, 75]],
	["cyan", [40, 190, 200]],
	["teal", [30, 140, 140]],
	["turquoise", [50, 190, 180]],
	["ice", [185, 225, 240]],
	["blue", [45, 95, 200]],
	["ocean", [25, 95, 160]],
	["sea", [30, 110, 165]],
	["water", [50, 120, 180]],
	["river", [60, 130, 175]],
	["lake", [50, 115, 165]],
	["sky", [95, 165, 225]],
	["navy", [25, 40, 100]],
	["purple", [125, 60, 175]],
	["violet", [135, 75, 195]],
	["lavender", [165, 140, 210]],
	["galaxy", [75, 45, 130]],
	["pink", [240, 135, 180]],
	["magenta", [205, 45, 160]],
	["cherry", [215, 70, 110]],
	["white", [240, 240, 240]],
	["snow", [235, 240, 246]],
	["cloud", [225, 232, 240]],
	["gray", [128, 128, 128]],
	["grey", [128, 128, 128]],
	["silver", [180, 185, 190]],
	["stone", [125, 122, 118]],
	["city", [110, 115, 130]],
	["black", [24, 24, 26]],
]);

const NIGHT_WORDS = new Set(["night", "midnight", "dark", "moon", "moonlight", "stars", "space", "galaxy"]);

const wordsOf = (text: string): string[] => text.toLowerCase().match(/\p{L}+/gu) ?? [];

/**
 * `vivid`: 0 to 1, how strong the colours are (a high guidance). `seen`: the average of the images that the caller
 * sent; every colour leans to it.
 */
export function choosePalette(
	prompt: string,
	avoid: string,
	{ random, vivid, seen }: { random: () => number; vivid: number; seen?: Rgb },
): Palette {
	const avoided = new Set(wordsOf(avoid));
	const words = wordsOf(prompt).filter((word) => !avoided.has(word));
	const night = words.some((word) => NIGHT_WORDS.has(word));
	const named = words.map((word) => WORD_COLOURS.get(word)).filter((colour) => colour !== undefined);
	// Drawn even where they are not needed: a named colour must not change the shape of the hills.
	const [hue, turn, tint] = [random() * 360, 25 + random() * 60, random()] as const;

	const main = named[0] ?? fromHsl(hue, 0.35 + 0.4 * vivid, 0.38);
	const mainHue = named[0] ? toHsl(main).hue : hue;
	const skyHue = mainHue + (tint < 0.5 ? turn : -turn);
	const sky = named[1] ?? fromHsl(skyHue, 0.3 + 0.45 * vivid, 0.6);
	const light = named[2] ?? fromHsl(40 + 15 * tint, night ? 0.15 : 0.9, 0.85);

	const ink: Rgb = [10, 12, 32];
	const paper: Rgb = [255, 250, 242];
	const skyLow = night ? mix(sky, ink, 0.55) : mix(sky, paper, 0.6);
	const palette = {
		skyTop: night ? mix(sky, ink, 0.85) : sky,
		skyLow,
		hillFar: mix(main, skyLow, 0.55),
		hillNear: night ? mix(main, ink, 0.45) : main,
		light,
	};
	const lean = (colour: Rgb): Rgb => (seen ? mix(colour, seen, 0.4) : colour);
	return {
		skyTop: lean(palette.skyTop),
		skyLow: lean(palette.skyLow),
		hillFar: lean(palette.hillFar),
		hillNear: lean(palette.hillNear),
		light: lean(palette.light),
		night,
	};
}
