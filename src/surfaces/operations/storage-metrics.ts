/** Metrics of what outlives a request: stored objects, and the queue of work. */
import { counter, gauge, type Metric, type MetricSample } from "../../core/metric.ts";
import type { JobUsage } from "../../jobs/records.ts";
import type { ResponseStoreUsage } from "../../responses/records.ts";
import type { SearchUsage } from "../../retrieval/search/records.ts";
import type { VectorUsage } from "../../retrieval/vectors/durable/registry.ts";
import type { StoreUsage } from "../../storage/blobs/blob-table.ts";
import type { LaneCount } from "../../storage/queue/work-table.ts";

export interface StorageReport {
	/** By account. */
	stored: readonly StoredReport[];
	work: readonly LaneCount[];
	/** Epoch milliseconds. */
	now: number;
}

/** What is absent, the account does not use, or its object was not read. */
export interface StoredReport {
	account: string;
	/** All objects that the account uses were read. */
	isComplete: boolean;
	stores: readonly StoreUsage[];
	responses?: ResponseStoreUsage;
	jobs?: JobUsage;
	vectors?: VectorUsage;
	searches?: SearchUsage;
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
	const ofJobs = (value: (usage: JobUsage) => number): MetricSample[] =>
		stored.flatMap(({ account, jobs }): MetricSample[] => (jobs ? [[{ account }, value(jobs)]] : []));
	const ofVectors = (value: (usage: VectorUsage) => number): MetricSample[] =>
		stored.flatMap(({ account, vectors }): MetricSample[] =>
			vectors ? [[{ account }, value(vectors)]] : [],
		);
	const ofSearches = (value: (usage: SearchUsage) => number): MetricSample[] =>
		stored.flatMap(({ account, searches }): MetricSample[] =>
			searches ? [[{ account }, value(searches)]] : [],
		);
	const queued = work.filter(({ state }) => state === "queued");
	return [
		gauge(
			"storage_up",
			"1 if all objects with stored data of the account were read. 0: some could not be reached, or too many are open.",
			stored.map(({ account, isComplete }): MetricSample => [{ account }, isComplete ? 1 : 0]),
		),
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
		gauge(
			"files",
			"Files of the account, with uploads under way.",
			ofJobs(({ files }) => files),
		),
		gauge(
			"file_bytes",
			"Bytes of the files of the account.",
			ofJobs(({ fileBytes }) => fileBytes),
		),
		gauge(
			"adapters",
			"LoRA adapters of the account.",
			ofJobs(({ adapters }) => adapters),
		),
		gauge(
			"adapter_bytes",
			"Bytes of the files of these adapters.",
			ofJobs(({ adapterBytes }) => adapterBytes),
		),
		gauge(
			"open_batches",
			"Batches that have not ended.",
			ofJobs(({ openBatches }) => openBatches),
		),
		gauge(
			"open_lines",
			"Lines of these batches without a result.",
			ofJobs(({ openLines }) => openLines),
		),
		gauge(
			"replays",
			"Replays of logs, also those that have ended.",
			ofJobs(({ replays }) => replays),
		),
		gauge(
			"oldest_batch_seconds",
			"Time since the creation of the oldest batch that has not ended.",
			ofJobs(({ oldestSeconds }) => oldestSeconds),
		),
		counter(
			"finished_lines_total",
			"Lines of batches that have a result.",
			ofJobs(({ finishedLines }) => finishedLines),
		),
		counter(
			"repeated_lines_total",
			"Runs of lines that were repeated because their process ended. The operator pays for their calls.",
			ofJobs(({ repeatedLines }) => repeatedLines),
		),
		counter(
			"discarded_lines_total",
			"Lines of batches that ended without a result: the batch was cancelled, was out of time, or failed.",
			ofJobs(({ discardedLines }) => discardedLines),
		),
		gauge(
			"vector_indexes",
			"Vector indexes.",
			ofVectors(({ indexes }) => indexes),
		),
		gauge(
			"vector_index_bytes",
			"Bytes of vector indexes.",
			ofVectors(({ bytes }) => bytes),
		),
		gauge(
			"stored_vectors",
			"Stored vectors.",
			ofVectors(({ vectors }) => vectors),
		),
		gauge(
			"stored_vector_dimensions",
			"Dimensions of all stored vectors.",
			ofVectors(({ storedDimensions }) => storedDimensions),
		),
		counter(
			"vector_queries_total",
			"Queries of vector indexes.",
			ofVectors(({ queries }) => queries),
		),
		counter(
			"queried_vector_dimensions_total",
			"Dimensions of the vectors of these queries.",
			ofVectors(({ queriedDimensions }) => queriedDimensions),
		),
		gauge(
			"search_instances",
			"AI Search instances.",
			ofSearches(({ instances }) => instances),
		),
		gauge(
			"search_items",
			"Items of AI Search instances.",
			ofSearches(({ items }) => items),
		),
		gauge(
			"search_chunks",
			"Chunks of these items.",
			ofSearches(({ chunks }) => chunks),
		),
		gauge(
			"search_bytes",
			"Bytes of AI Search instances, without files and vectors.",
			ofSearches(({ bytes }) => bytes),
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
