/** The two directions in which vectors differ most: a principal component analysis by power iteration. */

export interface Plane {
	/** The coordinates of a vector, each about from -1 to 1. */
	place(values: readonly number[]): readonly [x: number, y: number];
	/** The share of the differences between the vectors that the plane shows, from 0 to 1. */
	share: number;
}

const ITERATIONS = 40;

/** `isUnit`: only the directions of the vectors count. */
export function planeOf(vectors: readonly (readonly number[])[], isUnit: boolean): Plane {
	const rows = vectors.map((values) => prepared(values, isUnit));
	const width = rows[0]?.length ?? 0;
	const mean = new Float64Array(width);
	for (const row of rows)
		for (let at = 0; at < width; at++) mean[at] = (mean[at] ?? 0) + (row[at] ?? 0) / rows.length;
	const centred = rows.map((row) => row.map((value, at) => value - (mean[at] ?? 0)));
	const first = direction(centred, []);
	const second = direction(centred, [first]);
	const axes = [first, second];
	const spread = axes.map((axis) =>
		Math.max(...centred.map((row) => Math.abs(product(row, axis))), Number.MIN_VALUE),
	);
	const all = centred.reduce((sum, row) => sum + product(row, row), 0);
	const shown = centred.reduce(
		(sum, row) => sum + axes.reduce((own, axis) => own + product(row, axis) ** 2, 0),
		0,
	);
	// Both axes have one scale, so that distances can be compared.
	const scale = Math.max(...spread);
	return {
		place(values) {
			const row = prepared(values, isUnit).map((value, at) => value - (mean[at] ?? 0));
			return [product(row, first) / scale, product(row, second) / scale];
		},
		share: all === 0 ? 1 : shown / all,
	};
}

function prepared(values: readonly number[], isUnit: boolean): Float64Array {
	const row = Float64Array.from(values);
	const length = isUnit ? Math.sqrt(product(row, row)) : 1;
	return length === 0 ? row : row.map((value) => value / length);
}

/** The direction of the largest spread that is at a right angle to the others. */
function direction(rows: readonly Float64Array[], others: readonly Float64Array[]): Float64Array {
	const width = rows[0]?.length ?? 0;
	// The same picture for the same vectors.
	let axis = Float64Array.from({ length: width }, (_, at) => Math.sin(at + 1));
	for (let iteration = 0; iteration < ITERATIONS; iteration++) {
		const next = new Float64Array(width);
		for (const row of rows) add(next, row, product(row, axis));
		for (const other of others) add(next, other, -product(next, other));
		const length = Math.sqrt(product(next, next));
		if (length === 0) return new Float64Array(width);
		axis = next.map((value) => value / length);
	}
	return axis;
}

function add(sum: Float64Array, values: Float64Array, factor: number): void {
	for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + factor * (values[at] ?? 0);
}

function product(a: Float64Array, b: Float64Array): number {
	let sum = 0;
	for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
	return sum;
}
