/** Chance that is the same for one session: who comes first of some that share the work. Pure. */

export interface Share {
	/** Told apart by it; the same in every isolate. */
	name: string;
	weight: number;
}

/** By weight. `at`: 0 to 1. */
export function drawAt<Option extends Share>(options: readonly Option[], at: number): Option | undefined {
	let left = at * options.reduce((sum, { weight }) => sum + weight, 0);
	return options.find(({ weight }) => {
		left -= weight;
		return left < 0;
	});
}

/**
 * All of them, the session's first. By weighted rendezvous: each has its share of the sessions, and where weights
 * change, or one is added or removed, only as many sessions move as must.
 */
export function rankFor<Option extends Share>(session: string, options: readonly Option[]): Option[] {
	const score = ({ name, weight }: Share): number => -weight / Math.log(fraction(`${session}\n${name}`));
	return options
		.map((option) => ({ option, score: score(option) }))
		.sort((a, b) => b.score - a.score)
		.map(({ option }) => option);
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Above 0, below 1: FNV-1a over UTF-16, with MurmurHash3's last mixing, without which like names have like hashes. */
function fraction(text: string): number {
	let hash = FNV_OFFSET;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	hash ^= hash >>> 16;
	return ((hash >>> 0) + 0.5) / 2 ** 32;
}
