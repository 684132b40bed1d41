/** Numbers that a JSON Schema allows. */
import type { Schema } from "@cfworker/json-schema";

/** Multiples tried from zero, or from the bound that is nearest to it. */
const GRID_PLACES = 10;

/** Numbers to try within the bounds: the nearest to zero first, then each end of them. */
export function numbersOf(schema: Schema, integer: boolean, nth: number): number[] {
	const bound = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
	const above = bound(schema.exclusiveMinimum);
	const below = bound(schema.exclusiveMaximum);
	const low = Math.max(bound(schema.minimum) ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY);
	const high = Math.min(bound(schema.maximum) ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY);
	const step = schema.multipleOf ?? 1;
	const rounded = (value: number) => (integer ? Math.round(value) : value);
	const start = low > 0 ? low : Math.min(high, 0);
	const direction = high < 0 || (low <= 0 && high <= 0) ? -1 : 1;
	const onGrid = (places: number) =>
		exact((direction > 0 ? Math.ceil(start / step) : Math.floor(start / step)) + places * direction, step);
	const near = [nth, nth + 1, nth + 2].map(onGrid);
	const grid = Array.from({ length: GRID_PLACES }, (_, places) => onGrid(places));
	const between =
		Number.isFinite(low) && Number.isFinite(high)
			? [low + ((high - low) * (nth + 1)) / (nth + 2), (low + high) / 2]
			: [];
	return [...near, ...grid, start, start + 0.5 + nth, ...between, low, high]
		.filter(Number.isFinite)
		.map((value) => rounded(value) + 0);
}

/** `count * step` without binary rounding errors: 3 * 0.1 is 0.3. */
const exact = (count: number, step: number): number => {
	const decimals = (/\.(\d+)/.exec(String(step))?.[1] ?? "").length;
	return Number((count * step).toFixed(Math.min(decimals, 20)));
};
