/** What is calculated from the numbers of a model. */
import type { Tensor } from "@huggingface/transformers";

/** The values of each row, and their number. Throws if the model gives something else. */
export function logitsOf(
	{ logits }: { logits?: Tensor },
	rows: number,
): { values: Tensor["data"]; width: number } {
	const [count, width = 0] = logits?.dims ?? [];
	const values = logits?.data;
	if (count !== rows || width === 0 || values?.length !== rows * width)
		throw new Error("the model gives no score for each text");
	return { values, width };
}

/** The vector of a token. */
export function rowOf(
	{ data, dims: [, columns = 0, width = 0] }: Tensor,
	row: number,
	column: number,
): Float32Array {
	const start = (row * columns + column) * width;
	const vector = new Float32Array(width);
	for (let at = 0; at < width; at++) vector[at] = Number(data[start + at]);
	return vector;
}

/** Tensors are proxies, so a field is read once. */
export function meanOf({ data, dims }: Tensor, mask: Tensor | undefined, row: number): Float32Array {
	const [, columns = 0, width = 0] = dims;
	const isText = mask?.data;
	const sum = new Float64Array(width);
	let count = 0;
	for (let column = 0; column < columns; column++) {
		if (Number(isText?.[row * columns + column] ?? 1) === 0) continue;
		count += 1;
		const start = (row * columns + column) * width;
		for (let at = 0; at < width; at++) sum[at] = (sum[at] ?? 0) + Number(data[start + at]);
	}
	return Float32Array.from(sum, (value) => value / Math.max(1, count));
}

export function toUnitLength(vector: Float32Array): Float32Array {
	let squares = 0;
	for (const value of vector) squares += value * value;
	const length = Math.sqrt(squares) || 1;
	return vector.map((value) => value / length);
}

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

export function softmax(values: readonly number[]): number[] {
	const largest = Math.max(...values);
	const powers = values.map((value) => Math.exp(value - largest));
	const sum = powers.reduce((total, power) => total + power, 0);
	return powers.map((power) => power / sum);
}
