import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Price, PriceUnit } from "../../src/models/model.ts";
import { highestMicroNeurons, microNeurons, neurons, type Quantities } from "../../src/models/neurons.ts";
import { basePrices, highestPrices, pricesFor } from "../../src/models/price-tiers.ts";

const INPUT: PriceUnit = "per M input tokens";
const CACHED: PriceUnit = "per M cached input tokens";
const WRITE: PriceUnit = "per M cache write tokens";
const OUTPUT: PriceUnit = "per M output tokens";
const THRESHOLD = 272_000;

const row = (unit: PriceUnit, amount: number, aboveInputTokens?: number): Price => ({
	unit,
	neurons: amount,
	usd: 0,
	...(aboveInputTokens !== undefined && { aboveInputTokens }),
});

/** A tenth of the relations of gpt-6-luna: fresh 10, cached 1, written 12.5, output 50; above the threshold 20, 2, 25, 75. */
const TIERED: readonly Price[] = [
	row(INPUT, 10_000_000),
	row(CACHED, 1_000_000),
	row(WRITE, 12_500_000),
	row(OUTPUT, 50_000_000),
	row(INPUT, 20_000_000, THRESHOLD),
	row(CACHED, 2_000_000, THRESHOLD),
	row(WRITE, 25_000_000, THRESHOLD),
	row(OUTPUT, 75_000_000, THRESHOLD),
];

describe("prices above a number of input tokens", () => {
	it("hold for the whole request, input and output", () => {
		// 272000 * 10 + 1000 * 50
		expect(neurons(TIERED, { inputTokens: 272_000, outputTokens: 1000 })).toBe(2_770_000);
		// 272001 * 20 + 1000 * 75
		expect(neurons(TIERED, { inputTokens: 272_001, outputTokens: 1000 })).toBe(5_515_020);
	});

	it("count cached and written tokens as input, and bill them at their own prices", () => {
		const used = {
			inputTokens: 300_000,
			cachedTokens: 100_000,
			cacheWriteTokens: 50_000,
			outputTokens: 1000,
		};
		// 150000 * 20 + 100000 * 2 + 50000 * 25 + 1000 * 75
		expect(neurons(TIERED, used)).toBe(4_525_000);
		// 50000 * 10 + 100000 * 1 + 50000 * 12.5 + 1000 * 50
		expect(neurons(TIERED, { ...used, inputTokens: 200_000 })).toBe(1_275_000);
	});

	it("replace only the units that they name, whatever the order of the rows", () => {
		const rows = [row(INPUT, 4_000_000, 200_000), row(OUTPUT, 5_000_000), row(INPUT, 2_000_000)];
		// 200001 * 4 + 10 * 5
		expect(neurons(rows, { inputTokens: 200_001, outputTokens: 10 })).toBe(800_054);
		// 200000 * 2 + 10 * 5
		expect(neurons(rows, { inputTokens: 200_000, outputTokens: 10 })).toBe(400_050);
	});

	it("may have several thresholds", () => {
		const rows = [row(INPUT, 1_000_000), row(INPUT, 3_000_000, 1000), row(INPUT, 2_000_000, 100)];
		expect(neurons(rows, { inputTokens: 100 })).toBe(100);
		expect(neurons(rows, { inputTokens: 1000 })).toBe(2000);
		expect(neurons(rows, { inputTokens: 1001 })).toBe(3003);
	});

	it("leave other prices as they are", () => {
		const rows = [row(INPUT, 1), row(OUTPUT, 2)];
		expect(pricesFor(rows, 1_000_000)).toBe(rows);
		expect(highestPrices(rows, 1_000_000)).toBe(rows);
		expect(basePrices(TIERED)).toEqual(TIERED.slice(0, 4));
	});
});

describe("tokens that are written to a cache", () => {
	it("cost as much as other input without a price of their own", () => {
		// 100 * 2
		expect(neurons([row(INPUT, 2_000_000)], { inputTokens: 100, cacheWriteTokens: 60 })).toBe(200);
	});

	it("are at most the input that was not read from the cache", () => {
		const rows = TIERED.slice(0, 4);
		// 80 * 1 + 20 * 12.5
		expect(neurons(rows, { inputTokens: 100, cachedTokens: 80, cacheWriteTokens: 90 })).toBe(330);
		expect(neurons(rows, { inputTokens: 100, cacheWriteTokens: -5 })).toBe(1000);
	});
});

describe("the highest cost of a request", () => {
	it("is that of input that is all written to the cache", () => {
		expect(highestMicroNeurons(TIERED, { inputTokens: 1000, requests: 1 })).toEqual({
			// 1000 * 12.5
			fixed: 12_500_000_000,
			perOutputToken: 50_000_000,
		});
	});

	it("is that of the tier which the most input tokens reach", () => {
		expect(highestMicroNeurons(TIERED, { inputTokens: 272_001, requests: 1 })).toEqual({
			// 272001 * 25
			fixed: 6_800_025_000_000,
			perOutputToken: 75_000_000,
		});
	});

	it("is that of the dearer tier, also if a longer input is cheaper", () => {
		const rows = [row(INPUT, 9_000_000), row(INPUT, 1_000_000, 100), row(OUTPUT, 8_000_000)];
		expect(highestMicroNeurons(rows, { inputTokens: 200 })).toEqual({
			fixed: 1_800_000_000,
			perOutputToken: 8_000_000,
		});
	});

	it("is never exceeded by a request with at most as many tokens", () => {
		const amount = fc.integer({ min: 0, max: 50_000_000 });
		const rows = fc.array(
			fc.record({
				unit: fc.constantFrom(INPUT, CACHED, WRITE, OUTPUT),
				neurons: amount,
				usd: fc.constant(0),
				aboveInputTokens: fc.option(fc.integer({ min: 1, max: 400_000 }), { nil: undefined }),
			}),
			{ maxLength: 10 },
		);
		const tokens = fc.integer({ min: 0, max: 500_000 });
		fc.assert(
			fc.property(
				rows,
				tokens,
				tokens,
				tokens,
				tokens,
				tokens,
				(sent, max, input, cached, written, output) => {
					// One price per unit and threshold, and cached input is not dearer than other input.
					const unique = new Map(sent.map((price) => [`${price.unit} ${price.aboveInputTokens}`, price]));
					const prices = [...unique.values()].filter(({ unit }) => unit !== CACHED) as Price[];
					const used: Quantities = {
						inputTokens: Math.min(max, input),
						cachedTokens: cached,
						cacheWriteTokens: written,
						outputTokens: output,
					};
					const { fixed, perOutputToken } = highestMicroNeurons(prices, { inputTokens: max });
					expect(microNeurons(prices, used)).toBeLessThanOrEqual(fixed + perOutputToken * output + 1);
				},
			),
		);
	});
});
