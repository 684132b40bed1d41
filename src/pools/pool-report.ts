/** What an isolate knows about its pools, for metrics. */
import type { Pool } from "./pool.ts";
import type { GateReport } from "./pool-gate.ts";
import type { PairCounts } from "./prefill-decode/pair-counts.ts";
import type { Replica } from "./replica.ts";
import { classSpeed } from "./speed.ts";

/** Replicas, and the requests in progress at them. */
export interface ReplicasReport {
	/** Addresses of the replicas that accept requests. */
	active: readonly string[];
	draining: number;
	/** Requests in progress, and their tokens before and after the first token. */
	requests: number;
	prefillTokens: number;
	decodeTokens: number;
	/** Expected milliseconds to the first token of a typical request. Absent: no replica is active. */
	expectedMs?: number;
	/** Requests in the engines, also of other callers. Absent: no engine has reported them. */
	reported?: { running: number; waiting: number };
}

/** What this isolate knows about a pool. For metrics. */
export interface PoolReport extends ReplicasReport {
	backend: string;
	/** Requests that have arrived. */
	incoming: number;
	/** The prefill replicas, and all others. Absent: the pool has no prefill replicas. */
	stages?: { prefill: ReplicasReport; decode: ReplicasReport };
	/** Absent: the pool has no prefill replicas. */
	pairs?: PairCounts;
	/** Absent: the pool has no limit of requests. */
	gate?: GateReport;
}

function expectedMs({ byLoad, meanPromptTokens, speed }: Pool): number | undefined {
	const times = [...byLoad].flatMap(([speedClass, { topKey }]) =>
		topKey === undefined ? [] : (topKey + meanPromptTokens) / classSpeed(speedClass, speed),
	);
	return times.length > 0 ? Math.min(...times) : undefined;
}

/** `pools`: the stages of one pool. The expected time is that of the slowest. */
export function reportOf(pools: readonly Pool[]): ReplicasReport {
	const all = pools.flatMap(({ replicas }) => [...replicas]);
	const sum = (value: (replica: Replica) => number) =>
		all.reduce((total, replica) => total + value(replica), 0);
	const active = all.filter(({ draining }) => !draining);
	const expected = pools.map(expectedMs).filter((ms) => ms !== undefined);
	return {
		active: active.map(({ url }) => url),
		draining: all.length - active.length,
		requests: sum(({ requests }) => requests),
		prefillTokens: sum(({ prefillTokens }) => prefillTokens),
		decodeTokens: sum(({ decodeTokens }) => decodeTokens),
		...(expected.length === pools.length && { expectedMs: Math.max(...expected) }),
		...(all.some(({ report }) => report) && {
			reported: {
				running: sum(({ report }) => report?.load.running ?? 0),
				waiting: sum(({ report }) => report?.load.waiting ?? 0),
			},
		}),
	};
}
