/** What the scripted servers of vector stores have in common. */

// biome-ignore lint/suspicious/noExplicitAny: the scripted servers check it.
export type Json = any;

export class Refused extends Error {
	readonly status: number;
	readonly code: number;

	constructor(status: number, message: string, code = status) {
		super(message);
		this.status = status;
		this.code = code;
	}
}

export const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
	Array.from(a).reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

export const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
	Math.sqrt(Array.from(a).reduce((sum, value, at) => sum + (value - (b[at] ?? 0)) ** 2, 0));

/** 0 for a vector of zeros. */
export const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
	dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
