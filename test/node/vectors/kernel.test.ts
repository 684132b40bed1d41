/** The WebAssembly kernel of vector scans: its binary is its text, and its sums are exact. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { assembledKernel, BINARY } from "../../../scripts/kernel.ts";

const QUERY_AT = 0;
const SUMS_AT = 8 * 1024;
const CODES_AT = 64 * 1024;

interface Kernel {
	memory: WebAssembly.Memory;
	sums(codes: number, count: number, dimensions: number, query: number, sums: number): void;
}

let kernel: Kernel;
beforeAll(async () => {
	// The types are those of workerd, which has no instance of bytes.
	const compiled: unknown = await WebAssembly.instantiate(readFileSync(BINARY));
	kernel = (compiled as { instance: { exports: Kernel } }).instance.exports;
});

function sums(query: readonly number[], vectors: readonly (readonly number[])[]): number[] {
	const { buffer } = kernel.memory;
	const { length } = query;
	new Int16Array(buffer, QUERY_AT, 2_048).fill(0).set(query);
	new Int8Array(buffer, CODES_AT).fill(99);
	new Int8Array(buffer, CODES_AT).set(vectors.flat());
	const found = new Float64Array(buffer, SUMS_AT, vectors.length + 1).fill(-1);
	kernel.sums(CODES_AT, vectors.length, length, QUERY_AT, SUMS_AT);
	// It writes as many as it is told.
	expect(found.at(-1)).toBe(-1);
	return [...found.subarray(0, -1)];
}

const exactSum = (query: readonly number[], codes: readonly number[]): number =>
	Number(codes.reduce((sum, code, at) => sum + BigInt(code) * BigInt(query[at] ?? 0), 0n));

describe("the kernel", () => {
	it("is the binary form of its text: npm run kernel", async () => {
		expect(Buffer.from(await assembledKernel()).equals(readFileSync(BINARY))).toBe(true);
	});

	it.each([1, 2, 15, 16, 17, 31, 33, 384, 768, 1_000, 1_536])("adds %i products exactly", (dimensions) => {
		const numbers = Array.from({ length: dimensions }, (_, at) => ((at * 7_919) % 65_535) - 32_767);
		const vectors = Array.from({ length: 5 }, (_, vector) =>
			Array.from({ length: dimensions }, (_, at) => ((at * 31 + vector * 101) % 255) - 127),
		);
		expect(sums(numbers, vectors)).toEqual(vectors.map((codes) => exactSum(numbers, codes)));
	});

	it("does not overflow with the largest values", () => {
		const largest = (value: number): number[] => new Array<number>(1_536).fill(value);
		const vectors = [largest(127), largest(-127)];
		expect(sums(largest(32_767), vectors)).toEqual([6_391_924_224, -6_391_924_224]);
		expect(sums(largest(-32_767), vectors)).toEqual([-6_391_924_224, 6_391_924_224]);
	});

	it("does nothing for no vectors", () => {
		expect(sums([1, 2, 3], [])).toEqual([]);
	});
});
