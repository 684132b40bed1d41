/** The metrics of pools, from which an autoscaler can read what a pool needs. */
import { counter, gauge, type Metric, type MetricSample } from "../../core/metric.ts";
import type { EngineReport } from "../../fleet/health.ts";
import type { GateReport } from "../../pools/pool-gate.ts";
import type { PoolReport, ReplicasReport } from "../../pools/pool-report.ts";
import type { PairCounts } from "../../pools/prefill-decode/pair-counts.ts";
import type { Labelled } from "./worker-reports.ts";

/** `engines`: their circuits, as the same process sees them. */
export function poolMetrics(
	pools: readonly Labelled<PoolReport>[],
	engines: readonly Labelled<EngineReport>[],
): Metric[] {
	const keyOf = (backend: string, url: string, worker = ""): string => `${worker} ${backend} ${url}`;
	const open = new Set(
		engines
			.filter(({ circuit }) => circuit === "open")
			.map(({ backend, url, worker }) => keyOf(backend, url, worker)),
	);
	const openOf = ({ backend = "", worker }: MetricSample[0], urls: readonly string[]): number =>
		urls.filter((url) => open.has(keyOf(backend, url, worker))).length;
	const labelsOf = ({ backend, worker }: Labelled<PoolReport>): MetricSample[0] => ({
		backend,
		...(worker !== undefined && { worker }),
	});
	/** A pool with prefill replicas has one sample for each stage. */
	const stages = pools.flatMap((pool): [MetricSample[0], ReplicasReport][] =>
		pool.stages
			? [
					[{ ...labelsOf(pool), stage: "prefill" }, pool.stages.prefill],
					[{ ...labelsOf(pool), stage: "decode" }, pool.stages.decode],
				]
			: [[labelsOf(pool), pool]],
	);
	const ofStages = (value: (replicas: ReplicasReport) => number): MetricSample[] =>
		stages.map(([labels, replicas]): MetricSample => [labels, value(replicas)]);
	const ofGates = (value: (gate: GateReport) => readonly MetricSample[]): MetricSample[] =>
		pools.flatMap((pool) =>
			pool.gate
				? value(pool.gate).map(([labels, amount]): MetricSample => [{ ...labelsOf(pool), ...labels }, amount])
				: [],
		);
	const ofPairs = (value: (pairs: PairCounts) => readonly MetricSample[]): MetricSample[] =>
		pools.flatMap((pool) =>
			pool.pairs
				? value(pool.pairs).map(
						([labels, amount]): MetricSample => [{ ...labelsOf(pool), ...labels }, amount],
					)
				: [],
		);
	return [
		gauge(
			"pool_replicas",
			"Replicas of a pool. open: they fail, and are called last. draining: they get no new requests.",
			stages.flatMap(([labels, { active, draining }]): MetricSample[] => {
				const failing = openOf(labels, active);
				return [
					[{ ...labels, state: "active" }, active.length - failing],
					[{ ...labels, state: "open" }, failing],
					[{ ...labels, state: "draining" }, draining],
				];
			}),
		),
		gauge(
			"pool_inflight_requests",
			"Requests in progress at the replicas.",
			ofStages(({ requests }) => requests),
		),
		gauge(
			"pool_inflight_prefill_tokens",
			"Uncached prompt tokens of requests without a first token.",
			ofStages(({ prefillTokens }) => prefillTokens),
		),
		gauge(
			"pool_inflight_decode_tokens",
			"Prompt and expected output tokens of requests with a first token.",
			ofStages(({ decodeTokens }) => decodeTokens),
		),
		gauge(
			"pool_waiting_requests",
			"Requests in the queue.",
			ofGates(({ waiting }) => [[{}, waiting]]),
		),
		gauge(
			"pool_waiting_tokens",
			"Estimated cost of the requests in the queue: input tokens, and twice the output tokens.",
			ofGates(({ waitingTokens }) => [[{}, waitingTokens]]),
		),
		gauge(
			"pool_queue_oldest_seconds",
			"Time since the oldest request in the queue arrived.",
			ofGates(({ oldestMs }) => [[{}, oldestMs / 1000]]),
		),
		counter(
			"pool_incoming_requests_total",
			"Requests that arrived at a pool, including refused ones.",
			pools.map((pool): MetricSample => [labelsOf(pool), pool.incoming]),
		),
		gauge(
			"pool_expected_ttft_seconds",
			"Expected time to the first token of a typical request, at the best replica. Absent if no replica is active.",
			stages.flatMap(([labels, { expectedMs }]): MetricSample[] =>
				expectedMs === undefined ? [] : [[labels, expectedMs / 1000]],
			),
		),
		gauge(
			"pool_engine_requests",
			"Requests of all callers in the engines of a pool that is polled, as the engines report them.",
			stages.flatMap(([labels, { reported }]): MetricSample[] =>
				reported
					? [
							[{ ...labels, state: "running" }, reported.running],
							[{ ...labels, state: "waiting" }, reported.waiting],
						]
					: [],
			),
		),
		counter(
			"pool_stage_choices_total",
			"Calls of a pool with prefill replicas. pair: a prefill and a decode replica were called. Other reasons: one replica was called.",
			ofPairs(({ choices }) =>
				Object.entries(choices).map(([reason, calls]) => [{ reason: snakeCase(reason) }, calls]),
			),
		),
		counter(
			"pool_stage_fallbacks_total",
			"Pairs whose decode replica has processed the prompt itself. prefill_failed: the prefill replica has failed. no_handle: its reply has no handle.",
			ofPairs(({ fallbacks }) =>
				Object.entries(fallbacks).map(([reason, calls]) => [{ reason: snakeCase(reason) }, calls]),
			),
		),
		counter(
			"pool_rejected_total",
			"Requests that were refused. full: the queue was full, or the request did not wait. timeout: it waited too long. drained: no replica accepts requests.",
			ofGates(({ refused: { full, timeout, drained } }) => [
				[{ reason: "full" }, full],
				[{ reason: "timeout" }, timeout],
				[{ reason: "drained" }, drained],
			]),
		),
	];
}

/** `noPrefill`: `no_prefill`. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
