/** Counts of a pool with two stages since this isolate started: how often it has split a request, and how often that failed. */
import type { LegsReason } from "./legs.ts";

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
