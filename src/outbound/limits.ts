/**
 * The limits of the calls that the gateway makes by itself, by kind. Those of models and providers are settings (`timeouts` and
 * `AI_GATEWAY.provider_timeouts`). The table of docs/security.md shows all; `test/node/outbound.test.ts` compares them.
 */

interface ShortCallLimits {
	/** Milliseconds, with the answer. */
	timeoutMs: number;
	/** Bytes of the answer that are read. 0: it is not read. */
	maxBytes: number;
}

const MIB = 1024 * 1024;

export const SHORT_CALLS = {
	/** The replicas of a pool, and the load of an engine. */
	poll: { timeoutMs: 2_000, maxBytes: MIB },
	/** The service that starts replicas. */
	wake: { timeoutMs: 10_000, maxBytes: 0 },
	/** A collector of OpenTelemetry. */
	collector: { timeoutMs: 10_000, maxBytes: 0 },
	/** A webhook of batches. */
	webhook: { timeoutMs: 20_000, maxBytes: 0 },
} as const satisfies Record<string, ShortCallLimits>;

/** A search provider sends its header when its answer is complete, so the limit of the whole call applies until then. */
export const SEARCH_CALL = { headerMs: 30_000, idleMs: 20_000, totalMs: 30_000 } as const;

/** A page of a website, which AI Search indexes. */
export const PAGE_CALL = {
	/** Of the whole call. */
	totalMs: 20_000,
	/** Of the answer. A sitemap may have twice as many. */
	maxBytes: 4 * MIB,
} as const;

/** An S3-compatible store. */
export const STORE_CALL = {
	/** Until the status line, which follows the body of the request: a part of 8 MiB. Also between two pieces of an answer. */
	silentMs: 60_000,
	/** Of an answer that is no object. The longest is a list of 1,000 uploads, each with a key of up to 1,024 bytes. */
	textBytes: 4 * MIB,
	/** Of a refusal, whose code is read. */
	refusalBytes: 64 * 1024,
} as const;

/** A session of a database. */
export const DATABASE_CALL = {
	/** Until a connection is free, and between two queries of a session. */
	silentMs: 30_000,
	/** Of a session that reads. */
	readMs: 30_000,
	/** Of one that writes: a mutation has up to 5,000 vectors. */
	totalMs: 120_000,
	/** Of all answers of a session. */
	maxBytes: 64 * MIB,
} as const;

/** The answer of an engine or a search provider. */
export const REPLY = {
	/** One that is held in memory: a file, or some thousand embeddings. What it is converted to needs memory, too. */
	valueBytes: 24 * MIB,
	/** Of a refusal. */
	errorBytes: 64 * 1024,
} as const;
