/**
 * Prices that depend on the length of the input. A provider bills the whole request at the prices of a tier, its output too, if the
 * input has more tokens than the threshold of the tier. Thresholds are data (`aboveInputTokens` of a price).
 */
import type { Price, PriceUnit } from "./model.ts";

const INPUT: PriceUnit = "per M input tokens";
/** Input that costs another price than fresh input. */
const CACHE_WRITE: PriceUnit = "per M cache write tokens";

const hasTiers = (prices: readonly Price[]): boolean =>
	prices.some(({ aboveInputTokens }) => aboveInputTokens !== undefined);

/** The prices of a request with so many input tokens: one row per unit, that with the highest threshold below the number. */
export function pricesFor(prices: readonly Price[], inputTokens = 0): readonly Price[] {
	if (!hasTiers(prices)) return prices;
	return rowsByUnit(
		prices.filter(({ aboveInputTokens = -1 }) => inputTokens > aboveInputTokens),
		(row, known) => (row.aboveInputTokens ?? -1) > (known.aboveInputTokens ?? -1),
	);
}

/**
 * Prices for a reservation: no request with at most so many input tokens costs more. By unit, the highest price of all tiers that the
 * request can reach. Input costs as much as a write to the cache, because all of it may be written.
 */
export function highestPrices(prices: readonly Price[], maxInputTokens = 0): readonly Price[] {
	const write = prices.some(({ unit }) => unit === CACHE_WRITE);
	if (!write && !hasTiers(prices)) return prices;
	const reachable = prices.filter(({ aboveInputTokens = -1 }) => maxInputTokens > aboveInputTokens);
	const input = reachable.map((row) => (row.unit === CACHE_WRITE ? { ...row, unit: INPUT } : row));
	return rowsByUnit(input, (row, known) => row.neurons > known.neurons);
}

function rowsByUnit(rows: readonly Price[], replaces: (row: Price, known: Price) => boolean): Price[] {
	const byUnit = new Map<PriceUnit, Price>();
	for (const row of rows) {
		const known = byUnit.get(row.unit);
		if (!known || replaces(row, known)) byUnit.set(row.unit, row);
	}
	return [...byUnit.values()];
}

/** The prices of requests that reach no threshold. */
export const basePrices = (prices: readonly Price[]): readonly Price[] => pricesFor(prices, 0);
