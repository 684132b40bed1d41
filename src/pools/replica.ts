/** One replica of a pool: its requests in progress, and what was learned about it. Only its pool changes it. */
import { SpeedEstimate } from "./speed.ts";

/** `prefill`: processes prompts for others. `decode`: generates output from these. `both`: does both for its own requests. */
export const ROLES = ["both", "prefill", "decode"] as const;
export type Role = (typeof ROLES)[number];

export interface LoadReport {
	/** Prompt tokens that wait in the engine. */
	waitingTokens: number;
	/** Milliseconds. */
	at: number;
}

/**
 * A report of an engine is used this long. Older reports would count requests that have ended; the pool's own count of its
 * requests is always current.
 */
const REPORT_MS = 2_000;
/** Share of an in-flight decode token in the queue of prompts. A decoding request delays prompts, but much less than one. */
const DECODE_SHARE = 0.02;
const DEFAULT_CACHE_BLOCKS = 1_000;
const MIN_CACHE_BLOCKS = 64;
const MAX_CACHE_BLOCKS = 50_000;

export class Replica {
	/** Base address of the engine. Unique in the pool. */
	readonly url: string;
	draining = false;
	/** Requests in progress. */
	requests = 0;
	/** Uncached prompt tokens of requests without a first token. */
	prefillTokens = 0;
	/** Prompt and expected output tokens of requests with a first token. */
	decodeTokens = 0;
	speedClass = 0;
	readonly speed = new SpeedEstimate();
	/** Blocks that the engine's cache is believed to have. */
	cacheBlocks = DEFAULT_CACHE_BLOCKS;
	/** The engine has reported cached tokens, so a missing count means 0. */
	reportsCachedTokens = false;
	/** Milliseconds: the latest first token. */
	firstTokenAt = Number.NEGATIVE_INFINITY;
	/** Sequence number of the latest choice. Among equal replicas the one that was idle longest is chosen. */
	chosen: number;
	#foreignTokens = 0;
	#reportedAt = Number.NEGATIVE_INFINITY;

	constructor(url: string, chosen: number) {
		this.url = url;
		this.chosen = chosen;
	}

	/** Tokens of prompts before a new request, in units of prompt tokens. */
	get queuedTokens(): number {
		return this.prefillTokens + this.#foreignTokens + DECODE_SHARE * this.decodeTokens;
	}

	get tokens(): number {
		return this.prefillTokens + this.decodeTokens;
	}

	/** What the engine reports beyond the pool's own requests is work of other callers and isolates. */
	report({ waitingTokens, at }: LoadReport): void {
		this.#foreignTokens = Math.max(0, waitingTokens - this.prefillTokens);
		this.#reportedAt = at;
	}

	/** Forgets a report that is too old. Returns whether the load has changed. */
	expireReport(now: number): boolean {
		if (this.#foreignTokens === 0 || now - this.#reportedAt < REPORT_MS) return false;
		this.#foreignTokens = 0;
		return true;
	}

	/** Adapts the believed size of the cache to an expectation that was wrong by more than a block. */
	correctCache(expectedTokens: number, cachedTokens: number, blockTokens: number): void {
		const missing = expectedTokens - cachedTokens;
		if (Math.abs(missing) <= blockTokens) return;
		const size = this.cacheBlocks * (missing > 0 ? CACHE_SHRINK : CACHE_GROWTH);
		this.cacheBlocks = Math.round(Math.min(MAX_CACHE_BLOCKS, Math.max(MIN_CACHE_BLOCKS, size)));
	}
}

const CACHE_SHRINK = 0.95;
const CACHE_GROWTH = 1.05;
