import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import { PRICE_UNITS, type Price, type PriceUnit } from "../../src/models/model.ts";
import {
	highestMicroNeurons,
	microNeurons,
	neurons,
	type Quantities,
	shownNeurons,
} from "../../src/models/neurons.ts";

const pricesOf = (id: string): readonly Price[] => {
	const model = PRODUCT_MODELS.find((row) => row.id === id);
	if (!model) throw new Error(`${id} is not in the catalogue`);
	return model.prices;
};
const price = (unit: PriceUnit, amount: number): Price => ({ unit, neurons: amount, usd: 0 });
const square = (side: number) => ({ width: side, height: side });

/** One row per unit, with a price of the catalogue. */
const BY_HAND: Record<PriceUnit, [price: number, Quantities, neurons: number]> = {
	// 40909 * 57 / 1,000,000
	"per M input tokens": [40909, { inputTokens: 57 }, 2.331813],
	// 14545 * 2000 / 1,000,000; the other 500 have no price here
	"per M cached input tokens": [14545, { inputTokens: 2500, cachedTokens: 2000 }, 29.09],
	// 6.25 dollars are 568181.818182 neurons; * 3000 / 1,000,000; the other 500 have no price here
	"per M cache write tokens": [568181.818182, { inputTokens: 3500, cacheWriteTokens: 3000 }, 1704.545455],
	// 290909 * 28 / 1,000,000
	"per M output tokens": [290909, { outputTokens: 28 }, 8.145452],
	// 8 dollars are 727272.727273 neurons; * 323 / 1,000,000
	"per M input image tokens": [727272.727273, { inputTokens: 400, inputImageTokens: 323 }, 234.909091],
	// Without a price of the other image tokens there is none of the cached ones.
	"per M cached input image tokens": [181818.181818, { inputImageTokens: 300, cachedImageTokens: 200 }, 0],
	// 30 dollars are 2727272.727273 neurons; * 4160 / 1,000,000
	"per M output image tokens": [
		2727272.727273,
		{ outputTokens: 4160, outputImageTokens: 4160 },
		11345.454545,
	],
	// 1120 / 512 is 3 tiles a side: 9 * 636
	"per 512x512 tile": [636, { outputImages: [square(1120)] }, 5724],
	// 4 tiles * 4 steps * 9.60
	"per step": [9.6, { outputImages: [square(1024)], steps: 4 }, 153.6],
	// 1 tile and 2 tiles: 3 * 5.37
	"per input 512x512 tile": [5.37, { inputImages: [square(512), { width: 513, height: 512 }] }, 16.11],
	// 1024 x 768 is 2 * 2 tiles: 4 * 26.05
	"per output 512x512 tile": [26.05, { outputImages: [{ width: 1024, height: 768 }] }, 104.2],
	// 1 tile * 25 steps * 18.75
	"per input 512x512 tile, per step": [18.75, { inputImages: [square(512)], steps: 25 }, 468.75],
	// 4 tiles * 25 steps * 37.50
	"per output 512x512 tile, per step": [37.5, { outputImages: [square(1024)], steps: 25 }, 3750],
	// two images have a first megapixel each
	"per first MP (1024x1024)": [1363.64, { outputImages: [square(256), square(1920)] }, 2727.28],
	// 1920 * 1920 / 1,048,576 = 3.5, so 4, of which 3 are subsequent: 3 * 181.82
	"per subsequent MP": [181.82, { outputImages: [square(256), square(1920)] }, 545.46],
	// 512 * 512 is a begun megapixel: 1 * 181.82
	"per input image MP": [181.82, { inputImages: [square(512)] }, 181.82],
	// 228055 * 1 / 1,000,000
	"per M images": [228055, { inputImages: [square(224)] }, 0.228055],
	"per inference request": [0.681818, { requests: 1 }, 0.681818],
	// 1363.64 * 250 / 1000
	"per 1k characters input": [1363.64, { characters: 250 }, 340.91],
	// 41.14 * 90 / 60
	"per audio minute": [41.14, { audioSeconds: 90 }, 61.71],
	// 700 * 2.5 / 60 = 29.1666…
	"per audio minute (WebSocket)": [700, { liveAudioSeconds: 2.5 }, 29.166667],
	// 472.73 * 6 / 60
	"per audio minute input": [472.73, { audioSeconds: 6 }, 47.273],
	// 836.36 * 6 / 60
	"per audio minute input (WebSocket)": [836.36, { liveAudioSeconds: 6 }, 83.636],
};

describe("neurons of one unit", () => {
	it.each(PRICE_UNITS)("%s", (unit) => {
		const [amount, quantities, expected] = BY_HAND[unit];
		expect(neurons([price(unit, amount)], quantities)).toBe(expected);
	});

	it.each(PRICE_UNITS)("%s: 0 without quantities", (unit) => {
		expect(microNeurons([price(unit, 1000)], {})).toBe(0);
	});

	it("counts a millisecond of audio", () => {
		expect(microNeurons([price("per audio minute", 60)], { audioSeconds: 0.001 })).toBe(1000);
	});

	it("counts generated images, otherwise input images", () => {
		const [generated, inputImage] = [square(64), square(64)];
		const perImage = [price("per M images", 1_000_000)];
		expect(neurons(perImage, { inputImages: [inputImage, inputImage] })).toBe(2);
		expect(neurons(perImage, { inputImages: [inputImage, inputImage], outputImages: [generated] })).toBe(1);
		expect(neurons(perImage, { inputImages: [inputImage], outputImages: [] })).toBe(1);
	});
});

describe("neurons of observed replies", () => {
	it("flux-1-schnell, 1024x1024, 4 steps: 172.80", () => {
		const micro = microNeurons(pricesOf("@cf/black-forest-labs/flux-1-schnell"), {
			outputImages: [square(1024)],
			steps: 4,
		});
		// 4 tiles * (4.80 + 4 steps * 9.60)
		expect(micro).toBe(172_800_000);
		expect(shownNeurons(micro).toFixed(2)).toBe("172.80");
	});

	it("qwen3.8-27b, 57 in and 28 out: 10.47", () => {
		const micro = microNeurons(pricesOf("@cf/qwen/qwen3.8-27b"), { inputTokens: 57, outputTokens: 28 });
		// 2.331813 + 8.145452
		expect(micro).toBe(10_477_265);
		expect(shownNeurons(micro)).toBe(10.47);
	});
});

const chat: Quantities = { inputTokens: 1000, cachedTokens: 400, outputTokens: 100, requests: 1 };
const generatedImage: Quantities = { outputImages: [{ width: 1024, height: 768 }], steps: 25, requests: 1 };
const imageEdit: Quantities = { ...generatedImage, inputImages: [square(512)] };
const minute: Quantities = { audioSeconds: 60, characters: 1000, requests: 1 };
const inputImage: Quantities = { inputImages: [square(224)], requests: 1 };

/** One model for each combination of units. Calculated by hand. */
const MODELS: [id: string, Quantities, neurons: number][] = [
	// 600 * 0.086364 + 400 * 0.014545 + 100 * 0.363636
	["@cf/moonshotai/kimi-k2.6", chat, 94.0],
	// cached input has no price of its own: 1000 * 0.031818 + 100 * 0.068182
	["@cf/openai/gpt-oss-120b", chat, 38.6362],
	// 1000 * 0.026668 + 100 * 0.204805
	["@cf/meta/llama-3.3-70b-instruct-fp8-fast", chat, 47.1485],
	// output is free: 1000 * 0.021818
	["@cf/cloudflare/clef", chat, 21.818],
	["@cf/cloudflare/clef-flash", chat, 8.182],
	// 1000 * 0.001075
	["@cf/baai/bge-m3", chat, 1.075],
	// 1000 * 0.000283
	["@cf/baai/bge-reranker-base", chat, 0.283],
	// 1100 * 0.031050
	["@cf/meta/m2m100-1.2b", chat, 34.155],
	// 4 tiles * 25 steps * 37.50
	["@cf/black-forest-labs/flux-2-dev", generatedImage, 3750],
	// and 1 tile * 25 steps * 18.75
	["@cf/black-forest-labs/flux-2-dev", imageEdit, 4218.75],
	// 4 * 26.05, and 5.37
	["@cf/black-forest-labs/flux-2-klein-4b", imageEdit, 109.57],
	// a first megapixel, and one of the input image: 1363.64 + 181.82
	["@cf/black-forest-labs/flux-2-klein-9b", imageEdit, 1545.46],
	// 4 tiles * (636 + 25 * 12)
	["@cf/leonardo/lucid-origin", generatedImage, 3744],
	// 4 tiles * (530 + 25 * 10)
	["@cf/leonardo/phoenix-1.0", generatedImage, 3120],
	["@cf/stabilityai/stable-diffusion-xl-base-1.0", generatedImage, 0],
	["@cf/openai/whisper", minute, 41.14],
	["@cf/openai/whisper-large-v3-turbo", minute, 46.63],
	["@cf/deepgram/nova-3", minute, 472.73],
	["@cf/deepgram/nova-3", { liveAudioSeconds: 60 }, 836.36],
	["@cf/deepgram/flux", { liveAudioSeconds: 60 }, 700],
	["@cf/deepgram/aura-1", minute, 1363.64],
	["@cf/deepgram/aura-2-en", minute, 2727.27],
	["@cf/myshell-ai/melotts", minute, 18.63],
	["@cf/pipecat-ai/smart-turn-v2", minute, 30.72],
	["@cf/microsoft/resnet-50", inputImage, 0.228055],
	["@cf/facebook/detr-resnet-50", inputImage, 0.681818],
];

describe("neurons of the catalogue", () => {
	it.each(MODELS)("%s", (id, quantities, expected) => {
		expect(neurons(pricesOf(id), quantities)).toBe(expected);
	});

	it.each(PRODUCT_MODELS.map(({ id, prices }) => [id, prices] as const))("%s is priced", (_, prices) => {
		const everything = { ...chat, ...imageEdit, ...minute, liveAudioSeconds: 60 };
		expect(neurons(prices, everything) > 0).toBe(prices.some((row) => row.neurons > 0));
		expect(microNeurons(prices, {})).toBe(0);
	});
});

const count = fc.integer({ min: 0, max: 2_000_000 });
const size = fc.record({
	width: fc.integer({ min: 1, max: 4096 }),
	height: fc.integer({ min: 1, max: 4096 }),
});
const sizes = fc.array(size, { maxLength: 4 });
const quantities: fc.Arbitrary<Quantities> = fc.record({
	inputTokens: count,
	cachedTokens: count,
	outputTokens: count,
	characters: count,
	audioSeconds: fc.double({ min: 0, max: 10_000, noNaN: true }),
	liveAudioSeconds: fc.double({ min: 0, max: 10_000, noNaN: true }),
	outputImages: sizes,
	inputImages: sizes,
	steps: fc.integer({ min: 0, max: 50 }),
	requests: fc.constantFrom(0, 1),
});
const prices: fc.Arbitrary<Price[]> = fc.constantFrom(
	...PRODUCT_MODELS.map((model) => model.prices),
	PRICE_UNITS.map((unit) => price(unit, 12.345678)),
);

describe("neurons of any quantities", () => {
	it("are non-negative integers of micro-neurons", () => {
		fc.assert(
			fc.property(prices, quantities, (rows, used) => {
				const micro = microNeurons(rows, used);
				expect(Number.isSafeInteger(micro)).toBe(true);
				expect(micro).toBeGreaterThanOrEqual(0);
			}),
		);
	});

	it("never decrease with larger quantities", () => {
		const increments: ((used: Quantities) => Quantities)[] = [
			(used) => ({ ...used, inputTokens: (used.inputTokens ?? 0) + 1 }),
			(used) => ({ ...used, outputTokens: (used.outputTokens ?? 0) + 1 }),
			(used) => ({ ...used, characters: (used.characters ?? 0) + 1 }),
			(used) => ({ ...used, audioSeconds: (used.audioSeconds ?? 0) + 0.25 }),
			(used) => ({ ...used, liveAudioSeconds: (used.liveAudioSeconds ?? 0) + 0.25 }),
			(used) => ({ ...used, steps: (used.steps ?? 0) + 1 }),
			(used) => ({ ...used, requests: (used.requests ?? 0) + 1 }),
		];
		fc.assert(
			fc.property(prices, quantities, fc.constantFrom(...increments), (rows, used, add) => {
				expect(microNeurons(rows, add(used))).toBeGreaterThanOrEqual(microNeurons(rows, used));
			}),
		);
	});

	it("never decrease with another image, if images are generated", () => {
		fc.assert(
			fc.property(prices, quantities, size, (rows, used, image) => {
				const before = { ...used, outputImages: [square(512)] };
				const larger = [
					{ ...before, inputImages: [...(used.inputImages ?? []), image] },
					{ ...before, outputImages: [...before.outputImages, image] },
				];
				for (const after of larger)
					expect(microNeurons(rows, after)).toBeGreaterThanOrEqual(microNeurons(rows, before));
			}),
		);
	});

	it("decrease with cheaper cached tokens, and stay equal without a cache price", () => {
		fc.assert(
			fc.property(
				fc.constantFrom(...PRODUCT_MODELS),
				count,
				count,
				({ prices: rows }, inputTokens, cachedTokens) => {
					const without = microNeurons(rows, { inputTokens });
					const hit = microNeurons(rows, { inputTokens, cachedTokens });
					if (rows.some(({ unit }) => unit === "per M cached input tokens"))
						expect(hit).toBeLessThanOrEqual(without);
					else expect(hit).toBe(without);
				},
			),
		);
	});

	it("are additive over units and requests, except for rounding", () => {
		fc.assert(
			fc.property(prices, quantities, (rows, used) => {
				const withoutCache = { ...used, cachedTokens: 0 };
				const apart = rows.reduce((total, row) => total + microNeurons([row], withoutCache), 0);
				expect(Math.abs(microNeurons(rows, withoutCache) - apart)).toBeLessThanOrEqual(rows.length / 2 + 0.5);
			}),
		);
		fc.assert(
			fc.property(prices, count, count, count, count, (rows, a, b, c, d) => {
				const both = microNeurons(rows, { inputTokens: a + b, outputTokens: c + d });
				const apart =
					microNeurons(rows, { inputTokens: a, outputTokens: c }) +
					microNeurons(rows, { inputTokens: b, outputTokens: d });
				expect(Math.abs(both - apart)).toBeLessThanOrEqual(1);
			}),
		);
	});

	it("bounds invalid counts of engines", () => {
		const rows = [price("per M input tokens", 1_000_000), price("per M cached input tokens", 0)];
		expect(neurons(rows, { inputTokens: Number.NaN })).toBe(0);
		expect(neurons(rows, { inputTokens: -5 })).toBe(0);
		expect(neurons(rows, { inputTokens: 10, cachedTokens: 25 })).toBe(0);
		expect(neurons(rows, { inputTokens: 10, cachedTokens: -25 })).toBe(10);
		expect(neurons(rows, { inputTokens: 2.6 })).toBe(3);
		expect(neurons([price("per step", 1)], { steps: 4 })).toBe(0);
	});

	it("rounds once, half up", () => {
		const row = price("per M input tokens", 0.1);
		expect(microNeurons([row], { inputTokens: 4 })).toBe(0);
		expect(microNeurons([row], { inputTokens: 5 })).toBe(1);
		expect(microNeurons([row, row], { inputTokens: 4 })).toBe(1);
	});
});

describe("the price of an output token", () => {
	it("is an integer of micro-neurons", () => {
		const perOutputToken = (rows: readonly Price[]) => highestMicroNeurons(rows, {}).perOutputToken;
		expect(perOutputToken(pricesOf("@cf/qwen/qwen3.8-27b"))).toBe(290_909);
		expect(perOutputToken([price("per M output tokens", 0.5)])).toBe(1);
		expect(perOutputToken(pricesOf("@cf/openai/whisper"))).toBe(0);
		expect(perOutputToken([])).toBe(0);
	});
});

describe("neurons as shown", () => {
	it.each([
		[0, "0.00"],
		[9_999, "0.00"],
		[10_000, "0.01"],
		[1_989_999, "1.98"],
		[172_800_000, "172.80"],
		[10_000_000_000, "10000.00"],
	])("%i micro-neurons are %s", (micro, shown) => {
		expect(shownNeurons(micro).toFixed(2)).toBe(shown);
	});
});
