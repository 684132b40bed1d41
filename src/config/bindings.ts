/** The bindings of a deployment, and the Durable Object classes that it needs. */
import type { Account } from "../accounts/durable/account.ts";
import type { Directory } from "../accounts/durable/directory.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Gateway } from "../gateways/durable/gateway.ts";
import type { GatewayRegistry } from "../gateways/durable/registry.ts";
import type { ResponseCache } from "../gateways/durable/response-cache.ts";
import type { StreamRun } from "../gateways/durable/stream-run.ts";
import type { JobStoreObject } from "../jobs/durable/job-store.ts";
import type { ResponseStoreObject } from "../responses/durable/response-store.ts";
import type { SearchInstanceObject } from "../retrieval/search/durable/search-instance.ts";
import type { SearchRegistryObject } from "../retrieval/search/durable/search-registry.ts";
import type { VectorRegistryObject } from "../retrieval/vectors/durable/registry.ts";
import type { VectorIndexObject } from "../retrieval/vectors/durable/vector-index.ts";
import type { BlobStoreObject } from "../storage/blobs/blob-store.ts";
import type { WorkQueueObject } from "../storage/queue/work-queue.ts";
import type { ObjectCalls } from "../surfaces/operations/objects.ts";
import type { ObjectBinding } from "../surfaces/services.ts";
import { ConfigError } from "./problems.ts";
import {
	ADAPTERS_BINDING,
	DOCUMENTS_BINDING,
	OBJECTS_BINDING,
	OLDER_ACCOUNTS_BINDING,
	WORKERS_BINDING,
	type WorkersSetting,
} from "./worker-bindings.ts";

/** The bindings of a deployment, without its variables. */
export interface Bindings {
	ACCOUNT: DurableObjectNamespace<Account>;
	/** The accounts that exist. */
	DIRECTORY: DurableObjectNamespace<Directory>;
	/** A dataset of Analytics Engine: src/telemetry/analytics.ts. */
	ANALYTICS?: AnalyticsEngineDataset;
	/** If absent, every isolate has its own view of the engines' health. */
	FLEET?: DurableObjectNamespace<Fleet>;
	/** The gateways of each account. */
	GATEWAYS: DurableObjectNamespace<GatewayRegistry>;
	/** The logs and limits of each gateway. */
	GATEWAY: DurableObjectNamespace<Gateway>;
	/** A network without private addresses. Absent on Cloudflare, whose network has none. */
	PUBLIC_INTERNET?: Fetcher;
	/** The cached answers of each gateway. */
	RESPONSE_CACHE: DurableObjectNamespace<ResponseCache>;
	/** The stored responses of each account. */
	RESPONSE_STORE: DurableObjectNamespace<ResponseStoreObject>;
	/** The files and batches of each account. */
	JOB_STORE: DurableObjectNamespace<JobStoreObject>;
	/** A stream that can be resumed. */
	STREAM_RUN: DurableObjectNamespace<StreamRun>;
	/** The stored objects of each account. */
	BLOBS: DurableObjectNamespace<BlobStoreObject>;
	/** The queue of durable work. */
	WORK_QUEUE: DurableObjectNamespace<WorkQueueObject>;
	/** The vector indexes of each account. */
	VECTOR_REGISTRY: DurableObjectNamespace<VectorRegistryObject>;
	/** The vectors of an index. */
	VECTOR_INDEX: DurableObjectNamespace<VectorIndexObject>;
	/** The AI Search instances of each account. */
	SEARCH_REGISTRY: DurableObjectNamespace<SearchRegistryObject>;
	/** The items and texts of an AI Search instance. */
	SEARCH_INSTANCE: DurableObjectNamespace<SearchInstanceObject>;
	/** Large payloads of the gateways' logs. */
	LOGS_BUCKET?: R2Bucket;
	/** Receives the events of batches. */
	BATCH_EVENTS?: Pick<Queue, "send">;
	/** Stored objects, instead of the accounts' objects. */
	STORAGE_BUCKET?: R2Bucket;
	/** The files of the console (`console/site`). If absent, there is no console. */
	ASSETS?: Pick<Fetcher, "fetch">;
	/** Set in each process of `ganglion serve --workers N`. */
	[WORKERS_BINDING]?: WorkersSetting;
	[DOCUMENTS_BINDING]?: string;
	[ADAPTERS_BINDING]?: string;
	[OLDER_ACCOUNTS_BINDING]?: readonly string[];
	/** The process that has the Durable Objects, if it is another one. */
	[OBJECTS_BINDING]?: ObjectCalls;
}

/** The classes of the bindings that a deployment needs. */
const CLASSES = {
	ACCOUNT: "Account",
	DIRECTORY: "Directory",
	GATEWAYS: "GatewayRegistry",
	GATEWAY: "Gateway",
	RESPONSE_CACHE: "ResponseCache",
	RESPONSE_STORE: "ResponseStore",
	JOB_STORE: "JobStore",
	STREAM_RUN: "StreamRun",
	BLOBS: "BlobStore",
	WORK_QUEUE: "WorkQueue",
	VECTOR_REGISTRY: "VectorRegistry",
	VECTOR_INDEX: "VectorIndex",
	SEARCH_REGISTRY: "SearchRegistry",
	SEARCH_INSTANCE: "SearchInstance",
} as const satisfies Partial<Record<ObjectBinding, string>>;

/** The bindings of Durable Objects that other processes call, or that this process calls in another one. */
export const objectNames = (bindings: Bindings): readonly string[] =>
	bindings[WORKERS_BINDING]?.objects ?? [];

/** The configuration of a deployment may be older than these classes. Throws a `ConfigError` that names those that are missing. */
export function requireObjects(bindings: Bindings): void {
	const missing = Object.entries(CLASSES).filter(
		([name]) => !(bindings as Partial<Bindings>)[name as keyof Bindings],
	);
	if (missing.length === 0) return;
	throw new ConfigError(
		missing.map(
			([name, className]) =>
				`${name}: expected a Durable Object namespace of the class ${className}, found nothing (docs/configuration.md, Bindings)`,
		),
	);
}

/** Whether a version without a directory has created the account. */
export function olderAccounts({
	ACCOUNT,
	[OLDER_ACCOUNTS_BINDING]: ids = [],
}: Pick<Bindings, "ACCOUNT" | typeof OLDER_ACCOUNTS_BINDING>): (account: string) => boolean {
	const known = new Set(ids);
	return (account) => known.size > 0 && known.has(ACCOUNT.idFromName(account).toString());
}
