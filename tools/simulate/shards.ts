/**
 * A pool that is divided into shards: backends with equal parts of the replicas, each with an object of its own. A route sends a
 * session to one of them (`sticky: "session"`). Shards have nothing in common, so each is a simulation of its own.
 */
import { hashText } from "../../src/pools/block-hashes.ts";
import { type ClusterOptions, type Outcome, sessionOf, simulate } from "./cluster.ts";
import type { TraceRequest } from "./trace.ts";

export interface ShardedOutcome extends Outcome {
	/** Exchanges in a second at the busiest object. */
	exchangesPerSecond: number;
}

export function simulateShards(
	trace: readonly TraceRequest[],
	shards: number,
	options: ClusterOptions,
): ShardedOutcome {
	const parts = Array.from({ length: shards }, (): TraceRequest[] => []);
	for (const request of trace) parts[hashText(sessionOf(request)) % shards]?.push(request);
	const replicas = options.replicas / shards;
	if (!Number.isInteger(replicas)) throw new Error("The shards have different numbers of replicas");
	const outcomes = parts.map((part) => simulate(part, { ...options, replicas }));
	const seconds = (part: readonly TraceRequest[]) =>
		Math.max(1, ((part.at(-1)?.at ?? 0) - (part[0]?.at ?? 0)) / 1_000);
	/** Of all requests: a shard counts by its requests. */
	const weighted = (value: (outcome: Outcome) => number): number =>
		outcomes.reduce((sum, outcome) => sum + value(outcome) * outcome.firstTokenMs.length, 0) /
		Math.max(1, trace.length);
	return {
		firstTokenMs: outcomes.flatMap(({ firstTokenMs }) => firstTokenMs).sort((a, b) => a - b),
		hitRate: weighted(({ hitRate }) => hitRate),
		imbalance: Math.max(...outcomes.map(({ imbalance }) => imbalance)),
		choiceUs: weighted(({ choiceUs }) => choiceUs),
		exchanges: outcomes.reduce((sum, { exchanges }) => sum + exchanges, 0),
		exchangesPerSecond: Math.max(...outcomes.map(({ exchanges }, i) => exchanges / seconds(parts[i] ?? []))),
	};
}
