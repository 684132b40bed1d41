/** Weighted choice between targets: random, or stable for a session. Pure. */
import { fnv1a } from "../core/fnv.ts";

export interface Share {
	/** Unique, and the same in every isolate. */
	name: string;
	weight: number;
}

/** Chooses one option by weight. `at`: a random number from 0 to 1. */
export function chooseAt<Option extends Share>(options: readonly Option[], at: number): Option | undefined {
	let remaining = at * options.reduce((sum, { weight }) => sum + weight, 0);
	return options.find(({ weight }) => {
		remaining -= weight;
		return remaining < 0;
	});
}

/**
 * Orders the options for a session by weighted rendezvous hashing: each option is first for its share of the sessions, and a
 * change of weights or options moves as few sessions as possible.
 */
export function rankFor<Option extends Share>(session: string, options: readonly Option[]): Option[] {
	const score = ({ name, weight }: Share): number => -weight / Math.log(fraction(`${session}\n${name}`));
	return options
		.map((option) => ({ option, score: score(option) }))
		.sort((a, b) => b.score - a.score)
		.map(({ option }) => option);
}

/** Above 0, below 1. FNV-1a over UTF-16, and the final mix of MurmurHash3, because FNV-1a alone gives similar names similar hashes. */
function fraction(text: string): number {
	let hash = fnv1a(text);
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	hash ^= hash >>> 16;
	return ((hash >>> 0) + 0.5) / 2 ** 32;
}
