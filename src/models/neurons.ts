/**
 * What work costs, in neurons (developers.cloudflare.com/workers-ai/platform/pricing): quantities times the rows of a
 * model's prices. A model without prices costs nothing.
 *
 * Neurons are counted in whole millionths, *micro-neurons*, and computed in whole numbers: nothing is rounded but the
 * sum of all rows, once. Where the pricing page leaves room:
 * - A price "per step" is per tile and step (observed: flux-1-schnell, 1024x1024, 4 steps, is 172.80).
 * - Tiles and megapixels are counted a picture at a time, and a begun one counts.
 * - An audio minute is paid by the millisecond.
 * - Cached tokens are input tokens; without a price of their own they cost what input costs.
 * - Of "per M images" are the images made, or where a model makes none, those that it looked at.
 */
import type { Price, PriceUnit } from "./model.ts";

/** Pixels. */
export interface Size {
	width: number;
	height: number;
}

/** What was used. What is absent was not; neither was what is less than nothing. */
export interface Quantities {
	/** With those that were cached. */
	inputTokens?: number;
	/** Of the input tokens. */
	cachedTokens?: number;
	outputTokens?: number;
	/** Of the text to speak. */
	characters?: number;
	/** Seconds of sound, heard or made. */
	audioSeconds?: number;
	/** Seconds of sound that came over a WebSocket. */
	liveAudioSeconds?: number;
	/** Images made. */
	outputImages?: readonly Size[];
	/** Images looked at, or started from. */
	inputImages?: readonly Size[];
	/** Of diffusion, for each image made. */
	steps?: number;
	requests?: number;
}

/** Micro-neurons in a neuron. */
const MICRO = 1_000_000;
const TILE_PIXELS = 512;
const MEGAPIXEL = 1024 * 1024;
const MINUTE_MS = 60_000;
const MILLION = 1_000_000;
const THOUSAND = 1_000;

/** Of each `per` there are so many, and a price is for one of them. All denominators divide `WHOLE`. */
interface Unit {
	per: 1 | typeof THOUSAND | typeof MINUTE_MS | typeof MILLION;
	count(quantities: Quantities): number | undefined;
}

/** The least that all of {@link Unit.per} divide. */
const WHOLE = 3 * MILLION;

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
const sound: Unit = { per: MINUTE_MS, count: ({ audioSeconds }) => milliseconds(audioSeconds) };
const liveSound: Unit = { per: MINUTE_MS, count: ({ liveAudioSeconds }) => milliseconds(liveAudioSeconds) };

const UNITS: Record<PriceUnit, Unit> = {
	"per M input tokens": { per: MILLION, count: ({ inputTokens }) => inputTokens },
	"per M cached input tokens": { per: MILLION, count: ({ cachedTokens }) => cachedTokens },
	"per M output tokens": { per: MILLION, count: ({ outputTokens }) => outputTokens },
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
	"per audio minute": sound,
	"per audio minute input": sound,
	"per audio minute (WebSocket)": liveSound,
	"per audio minute input (WebSocket)": liveSound,
};

/** Whole; a price is taken to its sixth decimal, and half a micro-neuron is rounded up. */
export function microNeurons(prices: readonly Price[], quantities: Quantities): number {
	const counted = withCachedApart(prices, quantities);
	let parts = 0n;
	for (const { unit, neurons } of prices) {
		const { per, count } = UNITS[unit];
		const amount = whole(count(counted));
		if (amount > 0) parts += BigInt(Math.round(neurons * MICRO)) * BigInt(amount) * BigInt(WHOLE / per);
	}
	return Number((parts + BigInt(WHOLE / 2)) / BigInt(WHOLE));
}

export const neurons = (prices: readonly Price[], quantities: Quantities): number =>
	microNeurons(prices, quantities) / MICRO;

/** Whole, and never less than the price. */
export const microNeuronsPerOutputToken = (prices: readonly Price[]): number =>
	Math.ceil(
		prices.reduce((total, { unit, neurons }) => total + (unit === "per M output tokens" ? neurons : 0), 0),
	);

/** Neurons as replies show them: two decimals, and the rest cut off (observed: 10.477 is shown as 10.47). */
export const shownNeurons = (micro: number): number => Math.floor(micro / 10_000) / 100;

function withCachedApart(prices: readonly Price[], quantities: Quantities): Quantities {
	if (!quantities.cachedTokens || !prices.some(({ unit }) => unit === "per M cached input tokens"))
		return quantities;
	const input = whole(quantities.inputTokens);
	const cachedTokens = Math.min(input, whole(quantities.cachedTokens));
	return { ...quantities, inputTokens: input - cachedTokens, cachedTokens };
}

/** Counts are engines' own, and may be anything. */
const whole = (count = 0): number => (count > 0 ? Math.min(Math.round(count), Number.MAX_SAFE_INTEGER) : 0);
