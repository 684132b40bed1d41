/** Quantities of generated images. */
import { sizeOrDefault } from "../../counting/images.ts";
import type { Model } from "../../models/model.ts";
import type { Quantities } from "../../models/neurons.ts";
import type { ImageInput } from "./types.ts";

/** Diffusion steps if neither the caller nor the catalogue sets them: the largest default of any model. */
const DEFAULT_STEPS = 25;

/** The requested size. Engines may round it to their own block size. */
export const generatedImages = (
	{ width, height, steps, images, mask }: ImageInput,
	{ defaults }: Model,
): Quantities => ({
	outputImages: [{ width, height }],
	inputImages: [...images, ...(mask ? [mask] : [])].map(sizeOrDefault),
	steps: steps ?? numberOf(defaults.num_steps) ?? numberOf(defaults.steps) ?? DEFAULT_STEPS,
});

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
