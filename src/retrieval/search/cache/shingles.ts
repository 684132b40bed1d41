/**
 * How similar two questions are: the share of words and pairs of words that both have (Jaccard), estimated for the search of candidates by
 * MinHash and bands (locality-sensitive hashing), and computed exactly for those.
 */
import { fnv1a } from "../../../core/fnv.ts";

/** Shingles of a longer question are left out. */
const MAX_SHINGLES = 512;
const BANDS = 32;
/** Two sets with a share of 0.4 have an equal band with a probability of 0.996. */
const ROWS = 2;

const WORD = /[\p{L}\p{N}]+/gu;

/** Sorted numbers, each once. Empty: the question has no words. */
export function shinglesOf(text: string): number[] {
	const words = text.normalize("NFKC").toLowerCase().match(WORD) ?? [];
	const pairs = words.slice(1).map((word, index) => `${words[index]} ${word}`);
	const hashes = new Set([...words, ...pairs].map((shingle) => fnv1a(shingle)));
	return [...hashes].sort((one, other) => one - other).slice(0, MAX_SHINGLES);
}

/** The values of the bands. */
export function bandsOf(shingles: readonly number[]): number[] {
	if (shingles.length === 0) return [];
	return Array.from({ length: BANDS }, (_, band) => {
		let value = band;
		for (let row = 0; row < ROWS; row++) {
			const seed = (band * ROWS + row + 1) * 0x9e3779b1;
			let least = 0xffffffff;
			for (const shingle of shingles) least = Math.min(least, mixed(shingle ^ seed));
			value = mixed(value ^ least);
		}
		return value;
	});
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
	let hash = value >>> 0;
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	return (hash ^ (hash >>> 16)) >>> 0;
}

/** 0 to 1. Both are sorted. */
export function similarity(one: readonly number[], other: readonly number[]): number {
	let common = 0;
	for (let left = 0, right = 0; left < one.length && right < other.length; ) {
		const [a = 0, b = 0] = [one[left], other[right]];
		if (a === b) common++;
		if (a <= b) left++;
		if (b <= a) right++;
	}
	const all = one.length + other.length - common;
	return all === 0 ? 0 : common / all;
}

/** The product's names. It does not publish their values. */
export const CACHE_THRESHOLDS = {
	super_strict_match: 0.95,
	close_enough: 0.8,
	flexible_friend: 0.6,
	anything_goes: 0.4,
} as const;
export type CacheThreshold = keyof typeof CACHE_THRESHOLDS;
export const CACHE_THRESHOLD_NAMES = Object.keys(CACHE_THRESHOLDS) as [CacheThreshold, ...CacheThreshold[]];
