/** Tensors of hand-made GGUF models: random numbers, which are the same in each run. */
import type { GgufTensor } from "./gguf.ts";

/** Numbers between -1 and 1, the same for each seed. */
function numbers(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
		return state / 1_073_741_824 - 1;
	};
}

export class RandomWeights {
	readonly tensors: Record<string, GgufTensor> = {};
	readonly #next = numbers(1);

	/** A matrix, or filters of an image. `spread`: the largest number. */
	random(name: string, dims: number[], spread = 1 / Math.sqrt(dims[0] ?? 1)): number[] {
		const size = dims.reduce((product, dim) => product * dim, 1);
		const data = Array.from({ length: size }, () => this.#next() * spread);
		this.tensors[`${name}.weight`] = { dims, data };
		return data;
	}

	constant(name: string, length: number, value: number): void {
		this.tensors[name] = { dims: [length], data: new Array<number>(length).fill(value) };
	}

	/** A bias, or a norm's scale or shift: random numbers around a value. */
	around(name: string, length: number, value: number): void {
		const data = Array.from({ length }, () => value + this.#next() / 10);
		this.tensors[name] = { dims: [length], data };
	}
}
