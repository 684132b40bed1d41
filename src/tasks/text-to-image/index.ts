/** Text to image. The output is a media file. Sizes are in pixels. */
import { present } from "../../core/present.ts";
import { countedImageTokens, hasImageTokenPrices } from "../../counting/image-tokens.ts";
import { sizeOrDefault } from "../../counting/images.ts";
import { exact, maxEncoderTokens, upperBound } from "../../counting/quantities.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
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

interface TokenDetails {
	image_tokens?: number | undefined;
	cached_tokens?: number | undefined;
	cached_tokens_details?: { image_tokens?: number | undefined } | undefined;
}

/** Tokens as OpenAI's image models count them. */
export interface ImageTokens {
	input_tokens: number;
	output_tokens: number;
	total_tokens: number;
	input_tokens_details?: TokenDetails | undefined;
	/** Absent: all are of images. */
	output_tokens_details?: TokenDetails | undefined;
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

/** The host's counts. Input whose kind it does not say is text, unless the request has images. */
function reportedTokens(
	{ input_tokens, output_tokens, input_tokens_details: input, output_tokens_details: output }: ImageTokens,
	{ prompt, images }: ImageInput,
): Quantities {
	const imagesOnly = images.length > 0 ? Math.max(0, input_tokens - approximateTokens([prompt])) : 0;
	return {
		inputTokens: input_tokens,
		inputImageTokens: Math.min(input_tokens, input?.image_tokens ?? imagesOnly),
		...present({
			cachedTokens: input?.cached_tokens,
			cachedImageTokens: input?.cached_tokens_details?.image_tokens,
		}),
		outputTokens: output_tokens,
		outputImageTokens: Math.min(output_tokens, output?.image_tokens ?? output_tokens),
	};
}

/** Our own count, for a model with prices for the tokens of images. */
function ownTokens(
	{ width, height, images, mask, extensions, partialImages = 0 }: ImageInput,
	promptTokens: number,
	usual: "medium" | "high",
): Quantities {
	const quality = extensions?.quality;
	const request = {
		promptTokens,
		inputImages: images.length + (mask ? 1 : 0),
		size: { width, height },
		quality: typeof quality === "string" ? quality : undefined,
		partialImages,
	};
	return countedImageTokens(request, usual);
}

export const textToImage: TaskDefinition<ImageInput, ImageOutput> = {
	estimate(input, model) {
		const generated = generatedImages(input, model);
		if (!hasImageTokenPrices(model.prices)) return upperBound(generated);
		return upperBound({ ...generated, ...ownTokens(input, maxEncoderTokens([input.prompt]), "high") });
	},
	measure(input, { tokens }, model) {
		const generated = generatedImages(input, model);
		// An image without output tokens was not counted.
		if (tokens?.output_tokens) return exact({ ...generated, ...reportedTokens(tokens, input) });
		if (!hasImageTokenPrices(model.prices)) return exact(generated);
		const own = ownTokens(input, approximateTokens([input.prompt]), "medium");
		return { ...exact({ ...generated, ...own }), estimated: true };
	},
	shareable: ({ partialImages }) => partialImages === undefined,
};
