/** Metrics of what outlives a request: stored objects, and the queue of work. */

import { counter, gauge, type Metric, type MetricSample } from "../../core/metric.ts";
import type { ResponseStoreUsage } from "../../responses/records.ts";
import type { StoreUsage } from "../../storage/blobs/blob-table.ts";
import type { LaneCount } from "../../storage/queue/work-table.ts";

export interface StorageReport {
	/** By account. */
	stored: readonly { account: string; stores: readonly StoreUsage[]; responses?: ResponseStoreUsage }[];
	work: readonly LaneCount[];
	/** Epoch milliseconds. */
	now: number;
}

export function storageMetrics({ stored, work, now }: StorageReport): Metric[] {
	const ofStores = (value: (usage: StoreUsage) => number): MetricSample[] =>
		stored.flatMap(({ account, stores }) =>
			stores.map((usage): MetricSample => [{ account, store: usage.store }, value(usage)]),
		);
	const ofResponses = (value: (usage: ResponseStoreUsage) => number): MetricSample[] =>
		stored.flatMap(({ account, responses }): MetricSample[] =>
			responses ? [[{ account }, value(responses)]] : [],
		);
	const queued = work.filter(({ state }) => state === "queued");
	return [
		gauge(
			"stored_bytes",
			"Bytes of stored objects.",
			ofStores(({ bytes }) => bytes),
		),
		gauge(
			"stored_objects",
			"Stored objects.",
			ofStores(({ objects }) => objects),
		),
		gauge(
			"response_store_bytes",
			"Bytes of stored responses and conversations.",
			ofResponses(({ bytes }) => bytes),
		),
		gauge(
			"stored_responses",
			"Stored responses.",
			ofResponses(({ responses }) => responses),
		),
		gauge(
			"stored_conversations",
			"Stored conversations.",
			ofResponses(({ conversations }) => conversations),
		),
		counter(
			"refused_puts_total",
			"Objects that were refused because the storage of the account was full.",
			ofStores(({ refusedPuts }) => refusedPuts),
		),
		gauge(
			"work_items",
			"Items of durable work. dead: all attempts have failed.",
			work.map(({ account, kind, state, items }): MetricSample => [{ account, kind, state }, items]),
		),
		gauge(
			"work_oldest_seconds",
			"Time that the first queued item waits beyond its start.",
			queued.map(
				({ account, kind, firstAt }): MetricSample => [{ account, kind }, Math.max(0, now - firstAt) / 1_000],
			),
		),
	];
}
