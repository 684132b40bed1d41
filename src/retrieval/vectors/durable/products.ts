/** Sums over the values of vectors, in float64. */

/** Four sums, because each addition waits for the previous one of its sum. */
export function product(query: Float32Array, values: Float32Array, at: number): number {
	const { length } = query;
	const end = length - (length % 4);
	let a = 0;
	let b = 0;
	let c = 0;
	let d = 0;
	let i = 0;
	for (; i < end; i += 4) {
		a += (query[i] as number) * (values[at + i] as number);
		b += (query[i + 1] as number) * (values[at + i + 1] as number);
		c += (query[i + 2] as number) * (values[at + i + 2] as number);
		d += (query[i + 3] as number) * (values[at + i + 3] as number);
	}
	for (; i < length; i++) a += (query[i] as number) * (values[at + i] as number);
	return a + b + (c + d);
}

export function squaredDistance(query: Float32Array, values: Float32Array, at: number): number {
	let sum = 0;
	let other = 0;
	const { length } = query;
	const end = length - (length % 2);
	for (let i = 0; i < end; i += 2) {
		const first = (query[i] as number) - (values[at + i] as number);
		const second = (query[i + 1] as number) - (values[at + i + 1] as number);
		sum += first * first;
		other += second * second;
	}
	if (end < length) sum += ((query[end] as number) - (values[at + end] as number)) ** 2;
	return sum + other;
}

/** The Euclidean length of the values from `at` on. */
export function lengthOf(values: Float32Array, at: number, count: number): number {
	let sum = 0;
	for (let i = at; i < at + count; i++) sum += (values[i] as number) ** 2;
	return Math.sqrt(sum);
}
