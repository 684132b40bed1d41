/**
 * Vectors in one byte for each value, with bounds of what that loses. A scan of them reads a quarter of the bytes, eight values at a time, and
 * only the vectors that can be among the best are then scored exactly (scan.ts).
 *
 * A vector v is `scale · codes + e`, a query q is `scale · values + d` with int16 values. Then q·v differs from the product of both
 * approximations by (q − d)·e + d·v, so by at most |q − d| · |e| + |d| · |v| (Cauchy-Schwarz). |e| and |d| are computed from the values.
 */
import { lazy } from "../../../core/lazy.ts";
import { MAX_DIMENSIONS } from "../limits.ts";
import kernelModule from "./kernel.wasm";

const PAGE_BYTES = 64 * 1024;
const MAX_CODE = 127;
const MAX_QUERY_VALUE = 32_767;
/** Each enlargement copies nothing, but all views of the memory are made again. */
const PAGES_AT_ONCE = 16;
/** Values of the query that are read beyond its end are zeros. */
const QUERY_AT = 0;
const QUERY_VALUES = MAX_DIMENSIONS + 15;
const SUMS_AT = 8 * 1024;
const MAX_SUMS = (PAGE_BYTES - SUMS_AT) / Float64Array.BYTES_PER_ELEMENT;
/** Relative to the lengths of both vectors: more than the float64 sums of {@link MAX_DIMENSIONS} products can be off. */
export const ROUNDING = 1e-12;

/** The codes of a block need one page: its vectors have 256 KB as float32. */
export const CODE_BYTES = PAGE_BYTES;

interface Kernel {
	memory: WebAssembly.Memory;
	sums(codes: number, count: number, dimensions: number, query: number, sums: number): void;
}

/** The memory of an isolate: the query and the sums are in the first page, and nothing is in the last, of which the kernel may read. */
class CodeMemory {
	readonly #kernel: Kernel;
	readonly #free: number[] = [];
	#bytes: Int8Array<ArrayBuffer>;
	#query: Int16Array<ArrayBuffer>;
	#sums: Float64Array<ArrayBuffer>;
	/** The query that is in the memory. */
	#current: CodedQuery | undefined;

	constructor() {
		this.#kernel = new WebAssembly.Instance(kernelModule).exports as unknown as Kernel;
		const { buffer } = this.#kernel.memory;
		this.#bytes = new Int8Array(buffer);
		this.#query = new Int16Array(buffer, QUERY_AT, QUERY_VALUES);
		this.#sums = new Float64Array(buffer, SUMS_AT, MAX_SUMS);
	}

	/** Bytes of pages that no block has. WebAssembly returns no memory. */
	get idleBytes(): number {
		return this.#free.length * PAGE_BYTES;
	}

	/** `undefined`: there is no memory. */
	take(): number | undefined {
		if (this.#free.length === 0) this.#grow();
		return this.#free.pop();
	}

	release(page: number): void {
		this.#free.push(page);
	}

	#grow(): void {
		const { memory } = this.#kernel;
		try {
			const last = memory.grow(PAGES_AT_ONCE) - 1;
			for (let page = last; page < last + PAGES_AT_ONCE; page++) this.#free.push(page * PAGE_BYTES);
		} catch {
			return;
		}
		const { buffer } = memory;
		this.#bytes = new Int8Array(buffer);
		this.#query = new Int16Array(buffer, QUERY_AT, QUERY_VALUES);
		this.#sums = new Float64Array(buffer, SUMS_AT, MAX_SUMS);
	}

	get bytes(): Int8Array<ArrayBuffer> {
		return this.#bytes;
	}

	/** The sums of the query with vectors from a place on, in float64. They are valid until the next call. */
	sums(at: number, count: number, query: CodedQuery, dimensions: number): Float64Array<ArrayBuffer> {
		if (this.#current !== query) this.#query.set(query.values);
		this.#current = query;
		this.#kernel.sums(at, count, dimensions, QUERY_AT, SUMS_AT);
		return this.#sums;
	}
}

const memory = lazy(() => new CodeMemory());

/** Bytes that were taken from the system and have no codes now. */
export const idleCodeBytes = (): number => memory().idleBytes;

export interface CodedQuery {
	/** Int16 values, and zeros up to {@link QUERY_VALUES}. */
	values: Int16Array;
	scale: number;
	/** |q − d| */
	length: number;
	/** |d| */
	error: number;
}

export function codedQuery(query: Float32Array): CodedQuery {
	const values = new Int16Array(QUERY_VALUES);
	const scale = largest(query, 0, query.length) / MAX_QUERY_VALUE;
	let error = 0;
	let length = 0;
	for (let i = 0; i < query.length; i++) {
		const value = query[i] as number;
		const coded = scale === 0 ? 0 : Math.round(value / scale);
		values[i] = coded;
		length += (coded * scale) ** 2;
		error += (value - coded * scale) ** 2;
	}
	return { values, scale, length: Math.sqrt(length), error: Math.sqrt(error) };
}

/** The codes of a block's vectors, by their offset in the block. */
export class BlockCodes {
	readonly #page: number;
	readonly #dimensions: number;
	readonly #scales: Float64Array;
	/** |e| */
	readonly #errors: Float64Array;

	private constructor(page: number, slots: number, dimensions: number) {
		this.#page = page;
		this.#dimensions = dimensions;
		this.#scales = new Float64Array(slots);
		this.#errors = new Float64Array(slots);
	}

	/** `undefined`: there is no memory. The holder releases the codes once. */
	static take(slots: number, dimensions: number): BlockCodes | undefined {
		const page = memory().take();
		return page === undefined ? undefined : new BlockCodes(page, slots, dimensions);
	}

	release(): void {
		memory().release(this.#page);
	}

	/** Writes the codes of the vector at `at` in `values`. */
	encode(offset: number, values: Float32Array, at: number): void {
		const { bytes } = memory();
		const to = this.#page + offset * this.#dimensions;
		const scale = largest(values, at, this.#dimensions) / MAX_CODE;
		let error = 0;
		for (let i = 0; i < this.#dimensions; i++) {
			const value = values[at + i] as number;
			const code = scale === 0 ? 0 : Math.round(value / scale);
			bytes[to + i] = code;
			error += (value - code * scale) ** 2;
		}
		this.#scales[offset] = scale;
		this.#errors[offset] = Math.sqrt(error);
	}

	/** The sums of the query with `count` vectors, of which {@link approximate} makes products. Valid until the next call. */
	sums(offset: number, count: number, query: CodedQuery): Float64Array {
		const at = this.#page + offset * this.#dimensions;
		return memory().sums(at, count, query, this.#dimensions);
	}

	/** The product of the query with a vector, up to {@link errorOf}. */
	approximate(offset: number, sum: number, query: CodedQuery): number {
		return sum * query.scale * (this.#scales[offset] as number);
	}

	/** By how much the product can be off. @param length of the vector. */
	errorOf(offset: number, length: number, query: CodedQuery): number {
		const exact = query.length * (this.#errors[offset] as number) + query.error * length;
		return exact + ROUNDING * (query.length + query.error) * length;
	}
}

function largest(values: Float32Array, at: number, count: number): number {
	let found = 0;
	for (let i = at; i < at + count; i++) {
		const value = Math.abs(values[i] as number);
		if (value > found) found = value;
	}
	return found;
}
