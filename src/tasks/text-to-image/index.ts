/** Text to image. The output is a media file. Sizes are in pixels. */
import { sizeOrDefault } from "../../counting/images.ts";
import { exact, upperBound } from "../../counting/quantities.ts";
import type { Media } from "../../media/media.ts";
import type { Model } from "../../models/model.ts";
import type { Quantities } from "../../models/neurons.ts";
import type { TaskDefinition } from "../definition.ts";
import type { Extended } from "../extensions.ts";

export interface ImageInput extends Extended {
	prompt: string;
	negative_prompt?: string;
	width: number;
	height: number;
	steps?: number;
	guidance?: number;
	seed?: number;
	/** 0 to 1: how far the result may differ from the first of `images`. */
	strength?: number;
	/** Start images or reference images. */
	images: Media[];
	/** The area to repaint (inpainting). */
	mask?: Media;
	format: "png" | "jpeg";
	/** The caller reads events, and wants this many unfinished images before the complete one. Absent: no events. */
	partialImages?: number;
}

/** Tokens as OpenAI's image models count them. Images are billed by their size and steps. */
export interface ImageTokens {
	input_tokens: number;
	output_tokens: number;
	total_tokens: number;
	/** Details. */
	[other: string]: unknown;
}

/** The file, and what the engine reported of it. */
export interface ImageOutput extends Media {
	quality?: string;
	background?: string;
	tokens?: ImageTokens;
}

/** Diffusion steps if neither the caller nor the catalogue sets them: the largest default of any model. */
const DEFAULT_STEPS = 25;

/** The requested size. Engines may round it to their own block size. */
const generatedImages = (
	{ width, height, steps, images, mask }: ImageInput,
	{ defaults }: Model,
): Quantities => ({
	outputImages: [{ width, height }],
	inputImages: [...images, ...(mask ? [mask] : [])].map(sizeOrDefault),
	steps: steps ?? numberOf(defaults.num_steps) ?? numberOf(defaults.steps) ?? DEFAULT_STEPS,
});

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

export const textToImage: TaskDefinition<ImageInput, ImageOutput> = {
	estimate: (input, model) => upperBound(generatedImages(input, model)),
	measure: (input, _, model) => exact(generatedImages(input, model)),
	shareable: ({ partialImages }) => partialImages === undefined,
};
