/**
 * Counters and histograms of this process, by labels. Callers can invent names, so the number of label sets is bounded: the values of
 * further sets are added to one set, whose labels are all {@link OTHER}.
 */
import type { MetricSample } from "./metric.ts";

const OTHER = "other";
const SEPARATOR = "\u0000";

class LabelSets<Value> {
	readonly #names: readonly string[];
	readonly #max: number;
	readonly #create: () => Value;
	readonly #sets = new Map<string, { labels: Record<string, string>; value: Value }>();

	/** `names`: of the labels. `max`: label sets. */
	constructor({ names, max }: { names: readonly string[]; max: number }, create: () => Value) {
		this.#names = names;
		this.#max = max;
		this.#create = create;
	}

	/** `values`: of the labels, in their order. */
	at(values: readonly string[]): Value {
		const key = values.join(SEPARATOR);
		const found = this.#sets.get(key);
		if (found) return found.value;
		const others = this.#names.map(() => OTHER);
		if (this.#sets.size >= this.#max && values.some((value) => value !== OTHER)) return this.at(others);
		const labels = Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? ""]));
		const value = this.#create();
		this.#sets.set(key, { labels, value });
		return value;
	}

	/** In the order of their first use. */
	list(): { labels: Record<string, string>; value: Value }[] {
		return [...this.#sets.values()];
	}
}

export class CounterSeries {
	readonly #sets: LabelSets<{ sum: number }>;

	constructor(bounds: { names: readonly string[]; max: number }) {
		this.#sets = new LabelSets(bounds, () => ({ sum: 0 }));
	}

	add(values: readonly string[], amount = 1): void {
		this.#sets.at(values).sum += amount;
	}

	samples(): MetricSample[] {
		return this.#sets.list().map(({ labels, value: { sum } }): MetricSample => [labels, sum]);
	}
}

interface Observations {
	/** Not cumulative. The last one has the values above all bounds. */
	buckets: number[];
	sum: number;
}

export class HistogramSeries {
	readonly #sets: LabelSets<Observations>;
	readonly #bounds: readonly number[];

	/** `bounds`: the upper bounds of the buckets, ascending. */
	constructor({ bounds, ...sets }: { names: readonly string[]; max: number; bounds: readonly number[] }) {
		this.#bounds = bounds;
		this.#sets = new LabelSets(sets, () => ({ buckets: new Array(bounds.length + 1).fill(0), sum: 0 }));
	}

	add(values: readonly string[], value: number): void {
		const observations = this.#sets.at(values);
		const bucket = this.#bounds.findIndex((bound) => value <= bound);
		const index = bucket < 0 ? this.#bounds.length : bucket;
		observations.buckets[index] = (observations.buckets[index] ?? 0) + 1;
		observations.sum += value;
	}

	/** Buckets are cumulative, as in Prometheus's format. */
	samples(): MetricSample[] {
		return this.#sets.list().flatMap(({ labels, value: { buckets, sum } }): MetricSample[] => {
			let count = 0;
			const cumulative = buckets.map((inBucket, index): MetricSample => {
				count += inBucket;
				const bound = this.#bounds[index];
				return [{ ...labels, le: bound === undefined ? "+Inf" : String(bound) }, count, "_bucket"];
			});
			return [...cumulative, [labels, sum, "_sum"], [labels, count, "_count"]];
		});
	}
}

/** Upper bounds in seconds, from a cached answer to a long generation. */
export const DURATION_BOUNDS: readonly number[] = [
	0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
];
