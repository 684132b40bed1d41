/**
 * Text to image: a landscape whose colours and shapes follow from the prompt. A real PNG or JPEG of exactly the asked
 * size; the same input gives the same bytes. The file names its maker and never carries the prompt.
 *
 * What the fields do here: colour words of `prompt` choose the colours, those of `negative_prompt` are not used; `seed`
 * moves the hills; `steps` adds ranges of hills; `guidance` makes colours stronger. Of `images`, the average colours
 * every part, and the first shows through by 1 - `strength`; where `mask` is dark, it stays.
 */
import { encode as encodePng } from "fast-png";
import { encode as encodeJpeg } from "jpeg-js";
import { AiError } from "../../../errors.ts";
import type { ImageInput } from "../../../tasks/images.ts";
import type { Media } from "../../../tasks/media.ts";
import { luminance, type Rgb } from "./colours.ts";
import { paintLandscape } from "./landscape.ts";
import { choosePalette } from "./palette.ts";
import { openPicture } from "./picture.ts";
import { hash, numbersFrom } from "./seeded.ts";
import type { Thumbnail } from "./thumbnail.ts";

const SOFTWARE = "Ganglion simulator";
const MAX_PIXELS = 2 ** 24;
const JPEG_QUALITY = 88;
/** Deflate level: three is as small as nine on flat colours, at half the time. */
const PNG_LEVEL = 3;
const DEFAULT_STEPS = 20;
const DEFAULT_GUIDANCE = 7.5;
const STRONGEST_GUIDANCE = 15;
/** How far the result leaves an image that came without a `strength`. */
const DEFAULT_STRENGTH = 0.7;

export async function textToImage(input: ImageInput): Promise<Media> {
	const { width, height } = input;
	if (!(width >= 1 && height >= 1 && Number.isInteger(width) && Number.isInteger(height)))
		throw new AiError("invalidInput", "width and height must be whole numbers of at least 1.");
	if (width * height > MAX_PIXELS)
		throw new AiError("invalidInput", `width times height must be at most ${MAX_PIXELS}.`);
	const sources: Thumbnail[] = [];
	for (const [index, image] of input.images.entries()) {
		const { thumbnail } = await openPicture(image.bytes, `image[${index}]`);
		if (thumbnail) sources.push(thumbnail);
	}
	const mask = input.mask && (await openPicture(input.mask.bytes, "mask")).thumbnail;
	const rgb = paint(input, sources);
	const [source] = sources;
	if (source) showThrough(rgb, input, source, mask);
	return input.format === "png" ? png(rgb, input) : jpeg(rgb, input);
}

function paint(input: ImageInput, sources: readonly Thumbnail[]): Uint8Array {
	const { prompt, negative_prompt = "", width, height, seed, images, mask } = input;
	const steps = input.steps ?? DEFAULT_STEPS;
	const guidance = input.guidance ?? DEFAULT_GUIDANCE;
	const sent = [...images, ...(mask ? [mask] : [])].map(({ bytes }) =>
		hash(new TextDecoder("latin1").decode(bytes)),
	);
	const random = numbersFrom(hash(JSON.stringify([prompt, negative_prompt, seed ?? null, sent])));
	const vivid = Math.min(1, Math.max(0, guidance / STRONGEST_GUIDANCE));
	const seen = average(sources);
	const palette = choosePalette(prompt, negative_prompt, { random, vivid, ...(seen && { seen }) });
	const ranges = Math.min(6, 2 + Math.floor(Math.sqrt(Math.max(0, steps))));
	return paintLandscape({ width, height, ranges }, palette, random);
}

function average(pictures: readonly Thumbnail[]): Rgb | undefined {
	if (pictures.length === 0) return;
	const sums = [0, 0, 0] as [number, number, number];
	let pixels = 0;
	for (const { width, height, rgb } of pictures) {
		pixels += width * height;
		for (let i = 0; i < rgb.length; i += 3) {
			sums[0] += rgb[i] ?? 0;
			sums[1] += rgb[i + 1] ?? 0;
			sums[2] += rgb[i + 2] ?? 0;
		}
	}
	return [sums[0] / pixels, sums[1] / pixels, sums[2] / pixels];
}

/** Lays `source`, stretched to the asked size, over the painting. */
function showThrough(
	rgb: Uint8Array,
	{ width, height, strength = DEFAULT_STRENGTH }: ImageInput,
	source: Thumbnail,
	mask: Thumbnail | undefined,
): void {
	const kept = 1 - Math.min(1, Math.max(0, strength));
	if (kept === 0 && !mask) return;
	for (let y = 0; y < height; y++)
		for (let x = 0; x < width; x++) {
			// Where the mask is dark nothing is painted; where it is light, what the strength allows.
			const open = mask ? luminance(colourAt(mask, x / width, y / height)) : 1;
			const share = 1 - open * (1 - kept);
			if (share === 0) continue;
			const under = colourAt(source, x / width, y / height);
			const offset = (y * width + x) * 3;
			for (let channel = 0; channel < 3; channel++) {
				const painted = rgb[offset + channel] ?? 0;
				rgb[offset + channel] = painted + ((under[channel] ?? 0) - painted) * share;
			}
		}
}

function colourAt({ width, height, rgb }: Thumbnail, acrossShare: number, downShare: number): Rgb {
	const offset = (Math.floor(downShare * height) * width + Math.floor(acrossShare * width)) * 3;
	return [rgb[offset] ?? 0, rgb[offset + 1] ?? 0, rgb[offset + 2] ?? 0];
}

function png(rgb: Uint8Array, { width, height }: ImageInput): Media {
	const file = encodePng(
		{ width, height, data: rgb, channels: 3, depth: 8, text: { Software: SOFTWARE } },
		{ zlib: { level: PNG_LEVEL } },
	);
	return { bytes: new Uint8Array(file), contentType: "image/png" };
}

function jpeg(rgb: Uint8Array, { width, height }: ImageInput): Media {
	const rgba = new Uint8Array(width * height * 4);
	for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
		rgba[to] = rgb[from] ?? 0;
		rgba[to + 1] = rgb[from + 1] ?? 0;
		rgba[to + 2] = rgb[from + 2] ?? 0;
		rgba[to + 3] = 255;
	}
	const file = encodeJpeg({ width, height, data: rgba, comments: [SOFTWARE] }, JPEG_QUALITY);
	return { bytes: new Uint8Array(file.data), contentType: "image/jpeg" };
}
