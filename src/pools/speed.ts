/** How fast engines process prompts, learned from the times of their first tokens. Pure. */

/** Assumed for a pool without a finished request. Only ratios between replicas change the choice. */
const DEFAULT_TOKENS_PER_MS = 8;
/** A replica counts as fast as its pool until it has processed several times as many tokens. */
const PRIOR_TOKENS = 16_384;
/** Older tokens lose their weight. */
const MEMORY_TOKENS = 500_000;
/** Shorter prompts measure the network, not the engine. */
const MIN_SAMPLE_TOKENS = 256;

/** Tokens divided by the time in which the engine was busy with them. */
export class SpeedEstimate {
	#tokens = 0;
	#ms = 0;

	/** @param tokens uncached tokens of a prompt. @param ms time in which the engine processed this prompt. */
	learn(tokens: number, ms: number): void {
		if (tokens < MIN_SAMPLE_TOKENS || !(ms > 0)) return;
		const kept = Math.exp(-tokens / MEMORY_TOKENS);
		this.#tokens = this.#tokens * kept + tokens;
		this.#ms = this.#ms * kept + ms;
	}

	/** Tokens per millisecond. `prior`: the value without samples. */
	perMs(prior = DEFAULT_TOKENS_PER_MS): number {
		return (this.#tokens + PRIOR_TOKENS) / (this.#ms + PRIOR_TOKENS / prior);
	}
}

/** Classes per factor of two. */
const CLASSES_PER_DOUBLING = 2;
/** A replica changes its class when it is this far from the middle of its class; half a class is 0.5. */
const HYSTERESIS = 0.7;

/** The speed of a replica, in steps of a factor of √2 relative to its pool. Noise within a step does not change a choice. */
export function speedClass(perMs: number, poolPerMs: number, current: number): number {
	const position = Math.log2(perMs / poolPerMs) * CLASSES_PER_DOUBLING;
	return Math.abs(position - current) <= HYSTERESIS ? current : Math.round(position);
}

/** Tokens per millisecond of a class. */
export const classSpeed = (speedClass: number, poolPerMs: number): number =>
	poolPerMs * 2 ** (speedClass / CLASSES_PER_DOUBLING);
