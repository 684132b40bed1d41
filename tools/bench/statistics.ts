/** Medians and quartiles of a few runs. */
export interface Spread {
	median: number;
	/** Quartiles. */
	low: number;
	high: number;
}

export function quantile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (sorted.length - 1) * share;
	const [below = Number.NaN, above = Number.NaN] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
	return below + (above - below) * (at - Math.floor(at));
}

export const spread = (values: readonly number[]): Spread => ({
	median: quantile(values, 0.5),
	low: quantile(values, 0.25),
	high: quantile(values, 0.75),
});

/** Of a few runs, with `unit` behind each number. */
export const medianAndWorst = (values: readonly number[], digits: number, unit = ""): string =>
	`median ${quantile(values, 0.5).toFixed(digits)}${unit}, worst ${Math.max(...values).toFixed(digits)}${unit}`;

/** A value without variation. */
export const exactly = (value: number): Spread => ({ median: value, low: value, high: value });
