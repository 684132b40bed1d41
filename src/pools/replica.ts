/** One replica of a pool: its requests in progress, and what was learned about it. Only its pool changes it. */
import { SpeedEstimate } from "./speed.ts";

/** `prefill`: processes prompts for others. `decode`: generates output from these. `both`: does both for its own requests. */
export const ROLES = ["both", "prefill", "decode"] as const;
export type Role = (typeof ROLES)[number];

/** An engine's report about all its requests. */
export interface EngineLoad {
	/** Requests that are being processed, and that wait. */
	running: number;
	waiting: number;
	/** Uncached prompt tokens of the requests that wait. Absent: estimated from their number. */
	waitingTokens?: number;
	/** Used share of the cache, 0 to 1. */
	cacheUsage?: number;
	/** Size of the cache in tokens. */
	cacheTokens?: number;
}

export interface LoadReport {
	load: EngineLoad;
	/** Milliseconds. */
	at: number;
	/** Milliseconds after which the report is ignored: it would count requests that have ended. */
	validMs: number;
	/** Mean tokens of a request at this pool, before and after its first token. */
	mean: { prefill: number; decode: number };
}

/** Share of an in-flight decode token in the queue of prompts. A decoding request delays prompts, but much less than one. */
const DECODE_SHARE = 0.02;
/** Tokens of a block of the prefix index, roughly. */
const BLOCK_TOKENS = 512;
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
	/** Blocks that have entered the cache, by all requests that this isolate knows. */
	newBlocks = 0;
	/** The engine has reported cached tokens, so a missing count means 0. */
	reportsCachedTokens = false;
	/** Milliseconds: the latest first token. */
	firstTokenAt = Number.NEGATIVE_INFINITY;
	/** Sequence number of the latest choice. Among equal replicas the one that was idle longest is chosen. */
	chosen: number;
	/** The latest report, until it expires. */
	report: Omit<LoadReport, "mean"> | undefined;
	#foreignTokens = 0;
	#othersTokens = 0;
	/** Size of the cache in the engine's latest report. */
	#cacheTokens: number | undefined;

	constructor(url: string, chosen: number) {
		this.url = url;
		this.chosen = chosen;
	}

	/** Tokens of prompts before a new request, in units of prompt tokens. */
	get queuedTokens(): number {
		// The engine's report includes the requests of other isolates.
		const foreign = Math.max(this.#foreignTokens, this.#othersTokens);
		return this.ownTokens + foreign;
	}

	/** The queued tokens of other isolates, as they have shared them. */
	get othersTokens(): number {
		return this.#othersTokens;
	}

	/** The part of it that is this isolate's. */
	get ownTokens(): number {
		return this.prefillTokens + DECODE_SHARE * this.decodeTokens;
	}

	get tokens(): number {
		return this.prefillTokens + this.decodeTokens;
	}

	/** Requests of the report that the pool has not sent come from other callers and isolates. */
	setReport({ load, mean, ...times }: LoadReport): void {
		const { running, waiting, waitingTokens } = load;
		const foreign = Math.max(0, running + waiting - this.requests);
		const foreignWaiting = foreign * (waiting / Math.max(1, running + waiting));
		const prompts =
			waitingTokens === undefined
				? foreignWaiting * mean.prefill
				: Math.max(0, waitingTokens - this.prefillTokens);
		this.#foreignTokens = Math.round(prompts + DECODE_SHARE * (foreign - foreignWaiting) * mean.decode);
		this.report = { load, ...times };
	}

	setOthers(tokens: number): void {
		this.#othersTokens = tokens;
	}

	/** The report is too old. */
	forgetReport(): void {
		this.report = undefined;
		this.#foreignTokens = 0;
	}

	/** Sets the size of the cache that the engine reports. */
	setCacheTokens(tokens: number): void {
		if (this.#cacheTokens === tokens) return;
		this.#cacheTokens = tokens;
		this.cacheBlocks = Math.max(
			MIN_CACHE_BLOCKS,
			Math.min(MAX_CACHE_BLOCKS, Math.floor(tokens / BLOCK_TOKENS)),
		);
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
