/**
 * Computes the price of a call in neurons (developers.cloudflare.com/workers-ai/platform/pricing): each quantity times the
 * model's price for its unit. A model without prices costs nothing.
 *
 * Amounts are integers in millionths of a neuron, *micro-neurons*; only the sum of all units is rounded, once. Where the
 * pricing page is ambiguous:
 * - A price "per step" is per tile and step (observed: flux-1-schnell, 1024x1024, 4 steps, is 172.80).
 * - Tiles and megapixels are counted per image, rounded up.
 * - An audio minute is billed by the millisecond.
 * - Cached tokens are input tokens, and so are those that are written to the cache; without a price of their own they cost as much as
 *   other input.
 * - Tokens of images are tokens of the input or the output; without a price of their own they cost as much as the others.
 * - "per M images" counts generated images, or input images if the model generates none.
 */
import type { Price, PriceUnit } from "./model.ts";
import { highestPrices, pricesFor } from "./price-tiers.ts";

/** Pixels. */
export interface Size {
	width: number;
	height: number;
}

/** The quantities that a call used. Absent and negative quantities count as zero. */
export interface Quantities {
	/** Including tokens that were read from or written to a cache. */
	inputTokens?: number;
	/** The cached part of `inputTokens`. */
	cachedTokens?: number;
	/** The part of `inputTokens` that was written to a cache. */
	cacheWriteTokens?: number;
	outputTokens?: number;
	/** The part of `inputTokens` that is images, with the cached ones. */
	inputImageTokens?: number;
	/** The cached part of `inputImageTokens`, and of `cachedTokens`. */
	cachedImageTokens?: number;
	/** The part of `outputTokens` that is images. */
	outputImageTokens?: number;
	/** Characters of the text to speak. */
	characters?: number;
	/** Seconds of audio, input or generated. */
	audioSeconds?: number;
	/** Seconds of audio received over a WebSocket. */
	liveAudioSeconds?: number;
	/** Generated images. */
	outputImages?: readonly Size[];
	/** Input images, including start images. */
	inputImages?: readonly Size[];
	/** Diffusion steps per generated image. */
	steps?: number;
	requests?: number;
}

/** Cloudflare's price of a neuron, in US dollars. */
export const USD_PER_NEURON = 0.011 / 1_000;

/** Micro-neurons in a neuron. */
const MICRO = 1_000_000;
const TILE_PIXELS = 512;
const MEGAPIXEL = 1024 * 1024;
const MINUTE_MS = 60_000;
const MILLION = 1_000_000;
const THOUSAND = 1_000;

/** A price is for `per` of what `count` returns. */
interface Unit {
	per: 1 | typeof THOUSAND | typeof MINUTE_MS | typeof MILLION;
	count(quantities: Quantities): number | undefined;
}

/** The least common multiple of all {@link Unit.per}. */
const COMMON_DENOMINATOR = 3 * MILLION;

const tiles = ({ width, height }: Size): number =>
	Math.ceil(width / TILE_PIXELS) * Math.ceil(height / TILE_PIXELS);
const megapixels = ({ width, height }: Size): number => Math.ceil((width * height) / MEGAPIXEL);

const sum = (images: readonly Size[] = [], of: (image: Size) => number): number =>
	images.reduce((total, image) => total + of(image), 0);

const milliseconds = (seconds = 0): number => Math.round(seconds * 1000);

const inputTiles: Unit["count"] = ({ inputImages }) => sum(inputImages, tiles);
const outputTiles: Unit["count"] = ({ outputImages }) => sum(outputImages, tiles);
const inputTileSteps: Unit["count"] = ({ inputImages, steps = 0 }) => sum(inputImages, tiles) * steps;
const outputTileSteps: Unit["count"] = ({ outputImages, steps = 0 }) => sum(outputImages, tiles) * steps;
const audioMinute: Unit = { per: MINUTE_MS, count: ({ audioSeconds }) => milliseconds(audioSeconds) };
const liveAudioMinute: Unit = {
	per: MINUTE_MS,
	count: ({ liveAudioSeconds }) => milliseconds(liveAudioSeconds),
};

const UNITS: Record<PriceUnit, Unit> = {
	"per M input tokens": { per: MILLION, count: ({ inputTokens }) => inputTokens },
	"per M cached input tokens": { per: MILLION, count: ({ cachedTokens }) => cachedTokens },
	"per M cache write tokens": { per: MILLION, count: ({ cacheWriteTokens }) => cacheWriteTokens },
	"per M output tokens": { per: MILLION, count: ({ outputTokens }) => outputTokens },
	"per M input image tokens": { per: MILLION, count: ({ inputImageTokens }) => inputImageTokens },
	"per M cached input image tokens": { per: MILLION, count: ({ cachedImageTokens }) => cachedImageTokens },
	"per M output image tokens": { per: MILLION, count: ({ outputImageTokens }) => outputImageTokens },
	"per 512x512 tile": { per: 1, count: outputTiles },
	"per step": { per: 1, count: outputTileSteps },
	"per input 512x512 tile": { per: 1, count: inputTiles },
	"per output 512x512 tile": { per: 1, count: outputTiles },
	"per input 512x512 tile, per step": { per: 1, count: inputTileSteps },
	"per output 512x512 tile, per step": { per: 1, count: outputTileSteps },
	"per first MP (1024x1024)": { per: 1, count: ({ outputImages }) => outputImages?.length },
	"per subsequent MP": {
		per: 1,
		count: ({ outputImages }) => sum(outputImages, (image) => Math.max(0, megapixels(image) - 1)),
	},
	"per input image MP": { per: 1, count: ({ inputImages }) => sum(inputImages, megapixels) },
	"per M images": {
		per: MILLION,
		count: ({ outputImages, inputImages }) => outputImages?.length || inputImages?.length,
	},
	"per inference request": { per: 1, count: ({ requests }) => requests },
	"per 1k characters input": { per: THOUSAND, count: ({ characters }) => characters },
	"per audio minute": audioMinute,
	"per audio minute input": audioMinute,
	"per audio minute (WebSocket)": liveAudioMinute,
	"per audio minute input (WebSocket)": liveAudioMinute,
};

/** An integer. A price is used to its sixth decimal, and half a micro-neuron is rounded up. */
export function microNeurons(prices: readonly Price[], quantities: Quantities): number {
	if (prices.length === 0) return 0;
	const rows = isFlat(prices) ? prices : pricesFor(prices, safeCount(quantities.inputTokens));
	const counted = separateCacheTokens(rows, separateImageTokens(rows, quantities));
	let parts = COMMON_DENOMINATOR / 2;
	for (const { unit, neurons } of rows) {
		const { per, count } = UNITS[unit];
		parts += Math.round(neurons * MICRO) * safeCount(count(counted)) * (COMMON_DENOMINATOR / per);
	}
	// All products and the sum are exact below this bound.
	if (parts <= Number.MAX_SAFE_INTEGER) return (parts - (parts % COMMON_DENOMINATOR)) / COMMON_DENOMINATOR;
	return exactMicroNeurons(rows, counted);
}

/** As {@link microNeurons}, for amounts of any size, at twenty times the cost. */
function exactMicroNeurons(prices: readonly Price[], counted: Quantities): number {
	let parts = BigInt(COMMON_DENOMINATOR / 2);
	for (const { unit, neurons } of prices) {
		const { per, count } = UNITS[unit];
		const amount = safeCount(count(counted));
		parts += BigInt(Math.round(neurons * MICRO)) * BigInt(amount) * BigInt(COMMON_DENOMINATOR / per);
	}
	return Number(parts / BigInt(COMMON_DENOMINATOR));
}

export const neurons = (prices: readonly Price[], quantities: Quantities): number =>
	microNeurons(prices, quantities) / MICRO;

/** The most that a request can cost without its output, and that each output token adds. Integers, never less than the price. */
export function highestMicroNeurons(
	prices: readonly Price[],
	quantities: Quantities,
): { fixed: number; perOutputToken: number } {
	const rows = isFlat(prices)
		? prices
		: highestPrices(prices, safeCount(quantities.inputTokens)).map(untiered);
	let perOutputToken = 0;
	for (const { unit, neurons } of rows) if (unit === "per M output tokens") perOutputToken += neurons;
	return { fixed: microNeurons(rows, quantities), perOutputToken: Math.ceil(perOutputToken) };
}

/** Without tiers, and without a price of writes to a cache. */
function isFlat(prices: readonly Price[]): boolean {
	for (const { aboveInputTokens, unit } of prices)
		if (aboveInputTokens !== undefined || unit === "per M cache write tokens") return false;
	return true;
}

function untiered(price: Price): Price {
	if (price.aboveInputTokens === undefined) return price;
	const { aboveInputTokens: _, ...plain } = price;
	return plain;
}

/** Neurons as shown in replies: two decimals, truncated (observed: 10.477 is shown as 10.47). */
export const shownNeurons = (micro: number): number => Math.floor(micro / 10_000) / 100;

/** Moves the tokens of images with a price of their own out of the input and the output. */
function separateImageTokens(prices: readonly Price[], quantities: Quantities): Quantities {
	const { inputTokens, cachedTokens, outputTokens, ...images } = quantities;
	if (!images.inputImageTokens && !images.outputImageTokens) return quantities;
	const priced = (unit: PriceUnit, count: number | undefined): number =>
		prices.some((price) => price.unit === unit) ? safeCount(count) : 0;
	const input = priced("per M input image tokens", images.inputImageTokens);
	const cached = Math.min(input, priced("per M cached input image tokens", images.cachedImageTokens));
	const output = priced("per M output image tokens", images.outputImageTokens);
	return {
		...quantities,
		inputTokens: Math.max(0, safeCount(inputTokens) - input),
		cachedTokens: Math.max(0, safeCount(cachedTokens) - cached),
		outputTokens: Math.max(0, safeCount(outputTokens) - output),
		inputImageTokens: input - cached,
		cachedImageTokens: cached,
		outputImageTokens: output,
	};
}

/** Moves tokens with a price of their own out of the input. */
function separateCacheTokens(prices: readonly Price[], quantities: Quantities): Quantities {
	if (!quantities.cachedTokens && !quantities.cacheWriteTokens) return quantities;
	let inputTokens = safeCount(quantities.inputTokens);
	const separate = (unit: PriceUnit, count: number | undefined): number => {
		if (!count || !prices.some((price) => price.unit === unit)) return 0;
		const tokens = Math.min(inputTokens, safeCount(count));
		inputTokens -= tokens;
		return tokens;
	};
	const cachedTokens = separate("per M cached input tokens", quantities.cachedTokens);
	const cacheWriteTokens = separate("per M cache write tokens", quantities.cacheWriteTokens);
	return { ...quantities, inputTokens, cachedTokens, cacheWriteTokens };
}

/** Rounds, and bounds to safe non-negative integers. NaN becomes 0: `countOf` has dropped unreadable counts of engines before. */
const safeCount = (count = 0): number =>
	count > 0 ? Math.min(Math.round(count), Number.MAX_SAFE_INTEGER) : 0;
