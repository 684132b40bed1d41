/** Counts of a pool with two stages since this isolate started: how often it has split a request, and how often that failed. */

/** Why a pair, or one replica, was chosen. */
export const REASONS = {
	pair: "a prefill replica processes the prompt",
	short: "no prefill replica, because the prompt is short",
	cached: "no prefill replica, because most of the prompt is cached",
	sooner: "no prefill replica, because this one is expected to be sooner",
	unpaired: "no prefill replica, because the request cannot be split",
	noPrefill: "no prefill replica is available",
	noDecode: "no decode replica is available",
} as const;
export type LegsReason = keyof typeof REASONS;

/**
 * Why the decode replica of a pair has processed the prompt itself: the prefill replica has failed, or its reply has no handle.
 */
type Fallback = "prefillFailed" | "noHandle";

export interface PairCounts {
	/** Calls of engines by the reason of the choice. `pair`: both stages were called. */
	readonly choices: Record<LegsReason, number>;
	readonly fallbacks: Record<Fallback, number>;
}

export const newPairCounts = (): PairCounts => ({
	choices: { pair: 0, short: 0, cached: 0, sooner: 0, unpaired: 0, noPrefill: 0, noDecode: 0 },
	fallbacks: { prefillFailed: 0, noHandle: 0 },
});
