/**
 * Tokens of generated images, as OpenAI's image models count them. An image has a number of tokens for each megapixel that depends on
 * its quality: https://platform.openai.com/docs/guides/image-generation#cost-and-latency. The numbers of `xhigh` and `max` are not
 * published: they are taken as four times those of `high`.
 */
import { own } from "../core/own.ts";
import type { PriceUnit } from "../models/model.ts";
import type { Quantities, Size } from "../models/neurons.ts";

/** For each megapixel of 1024 by 1024. */
const TOKENS_BY_QUALITY = {
	low: 272,
	medium: 1_056,
	high: 4_160,
	xhigh: 16_640,
	max: 16_640,
};
const MEGAPIXEL = 1024 * 1024;
/** Of an input image with high fidelity. */
const MAX_INPUT_IMAGE_TOKENS = 6_900;
/** Of an unfinished image. */
const PARTIAL_IMAGE_TOKENS = 100;

const UNITS: ReadonlySet<PriceUnit> = new Set(["per M input image tokens", "per M output image tokens"]);

export const hasImageTokenPrices = (prices: readonly { unit: PriceUnit }[]): boolean =>
	prices.some(({ unit }) => UNITS.has(unit));

interface ImageRequest {
	promptTokens: number;
	inputImages: number;
	size: Size;
	quality: string | undefined;
	/** Unfinished images. */
	partialImages: number;
}

/** Our own count. `usual`: the quality that the model chooses if the request names none. */
export function countedImageTokens(
	{ promptTokens, inputImages, size, quality = "auto", partialImages }: ImageRequest,
	usual: "medium" | "high",
): Quantities {
	const perMegapixel = own<number>(TOKENS_BY_QUALITY, quality) ?? TOKENS_BY_QUALITY[usual];
	const image = Math.ceil((perMegapixel * size.width * size.height) / MEGAPIXEL);
	const inputImageTokens = inputImages * MAX_INPUT_IMAGE_TOKENS;
	const outputImageTokens = image + partialImages * PARTIAL_IMAGE_TOKENS;
	return {
		inputTokens: promptTokens + inputImageTokens,
		inputImageTokens,
		outputTokens: outputImageTokens,
		outputImageTokens,
	};
}
