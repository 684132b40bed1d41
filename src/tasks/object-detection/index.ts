/** Object detection. Sizes and boxes are in pixels. */
import { inputImage } from "../../counting/images.ts";
import {
	estimatedTokens,
	exact,
	MAX_OUTPUT_TOKENS,
	tokenUpperBound,
	upperBound,
} from "../../counting/quantities.ts";
import { Approximation, OBJECT_TOKENS, type Tally, UpperBound } from "../../counting/tally.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import type { Model } from "../../models/model.ts";
import type { TaskDefinition } from "../definition.ts";

export interface DetectObjectsInput {
	image: Media;
	/** Detect only this, if the model supports it. */
	target?: string;
	max_objects?: number;
}

interface DetectedObject {
	label: string;
	score: number;
	box: { xmin: number; ymin: number; xmax: number; ymax: number };
}

export interface DetectObjectsOutput {
	objects: DetectedObject[];
	/** Size of the image, for dialects that write boxes as fractions. */
	width: number;
	height: number;
}

/** Default limit of a detection in Moondream's schema. */
const DEFAULT_MAX_OBJECTS = 150;

export const objectDetection: TaskDefinition<DetectObjectsInput, DetectObjectsOutput> = {
	estimate(input, model) {
		const { image, max_objects = DEFAULT_MAX_OBJECTS } = input;
		if (!isBilledByTokens(model)) return upperBound(inputImage(image));
		const outputTokens = Math.min(max_objects * OBJECT_TOKENS, MAX_OUTPUT_TOKENS);
		return tokenUpperBound(promptTokens(input, new UpperBound()), outputTokens, inputImage(image));
	},
	measure(input, { objects }, model) {
		const images = inputImage(input.image);
		if (!isBilledByTokens(model)) return exact(images);
		return estimatedTokens(promptTokens(input, new Approximation()), objects.length * OBJECT_TOKENS, images);
	},
};

/** True for Moondream. */
const isBilledByTokens = ({ prices }: Model): boolean =>
	prices.some(({ unit }) => unit === "per M input tokens");

function promptTokens({ image, target = "" }: DetectObjectsInput, tally: Tally): number {
	tally.opening();
	tally.markers(1);
	tally.text(target);
	tally.image(imageSizeOf(image.bytes));
	return tally.tokens;
}
