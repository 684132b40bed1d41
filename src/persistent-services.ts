/** Creates the services that a reload keeps, from the bindings. Each is created once, after those that it needs. */
import { waitUntil as keepAlive } from "cloudflare:workers";
import { createLedgers } from "./accounts/client/accounts.ts";
import { DeploymentSecret } from "./accounts/client/deployment-secret.ts";
import { DirectoryCache } from "./accounts/client/directory-cache.ts";
import { DIRECTORY_NAME } from "./accounts/durable/directory.ts";
import { createPools } from "./backends/create-pools.ts";
import { type Bindings, objectNames, olderAccounts, requireObjects } from "./config/bindings.ts";
import { accountObjects, countObject, streamRunObjects } from "./config/counted-objects.ts";
import { type Config, type DevelopmentConfig, isForDevelopment } from "./config/index.ts";
import { limitProcess } from "./config/process-limits.ts";
import {
	ADAPTERS_BINDING,
	DOCUMENTS_BINDING,
	OBJECTS_BINDING,
	WORKERS_BINDING,
} from "./config/worker-bindings.ts";
import { workersOf } from "./config/workers.ts";
import { DeletedAccounts, isAccountDeleted } from "./core/deleted-accounts.ts";
import { diskSpace } from "./core/disk-space.ts";
import { AiError } from "./core/errors.ts";
import { FairLine } from "./core/fair-line.ts";
import { hintOnce } from "./core/hints.ts";
import { LazyTimers } from "./core/lazy-timer.ts";
import { callsOfPart } from "./core/object-parts.ts";
import { OpenObjects } from "./core/open-objects.ts";
import { present } from "./core/present.ts";
import { PROCESS_COUNTS } from "./core/process-counts.ts";
import { RunningRequests } from "./core/running-requests.ts";
import { RuntimeDelay } from "./core/runtime-delay.ts";
import { timeOrderedUuid } from "./core/time-ordered-uuid.ts";
import { FLEET_NAME } from "./fleet/fleet.ts";
import { IsolateHealth } from "./fleet/health.ts";
import { GatewayLimits } from "./gateways/client/gateway-limits.ts";
import { GatewayLogs } from "./gateways/client/gateway-logs.ts";
import { Gateways } from "./gateways/client/gateways.ts";
import { OtelExporter } from "./gateways/client/otel-exporter.ts";
import { AliasPools, DeployedRoutes, ProviderAccesses } from "./gateways/client/registry-parts.ts";
import { ResponseCaches } from "./gateways/client/response-caches.ts";
import { StreamRuns } from "./gateways/client/stream-runs.ts";
import { GatewayCounters } from "./gateways/export/counters.ts";
import { MAX_PAYLOAD, MAX_STORED_PAYLOAD } from "./gateways/logs/payload.ts";
import { Background } from "./http/background.ts";
import { EngineFolders } from "./jobs/adapters/engine-folders.ts";
import { Pace } from "./jobs/batches/pace.ts";
import type { JobStoreObject } from "./jobs/durable/job-store.ts";
import { SingleFlight } from "./pipeline/dispatch/single-flight.ts";
import { UnchangedStreams } from "./pipeline/unchanged-streams.ts";
import type { ResponseStoreObject } from "./responses/durable/response-store.ts";
import { createQueryCounts, type RetrievalObjects, retrievalObjects } from "./retrieval/create-retrieval.ts";
import { createConverter } from "./retrieval/documents/documents-entrypoint.ts";
import type { StorageBindings } from "./storage/create-storage.ts";
import { createShadows } from "./surfaces/jobs/create-shadows.ts";
import { GuardCounts } from "./surfaces/operations/guard-counts.ts";
import { withRemoteObjects } from "./surfaces/operations/objects.ts";
import type { AppServices } from "./surfaces/services.ts";
import { observersOf } from "./telemetry/exchange-observer.ts";
import { FailureCounts, surfaceLog } from "./telemetry/failure-counts.ts";
import { logFailure } from "./telemetry/log.ts";
import { RequestTimes } from "./telemetry/request-times.ts";

/** The services that depend on the variables. A reload replaces them (`services.ts`). */
type Configured = keyof Pick<
	AppServices,
	| "aliases"
	| "catalog"
	| "findAdapter"
	| "gatewayRules"
	| "accountRouting"
	| "jobs"
	| "jobSettings"
	| "limits"
	| "publicUrl"
	| "routing"
	| "searchInstances"
	| "shadowRoutes"
	| "storage"
	| "storedResponses"
	| "vectorIndexes"
	| "webSearch"
>;

/** The services that a reload keeps. */
export type Persistent = Omit<AppServices, Configured> & {
	background: Background;
	guardCounts: GuardCounts;
	runtimeDelay: RuntimeDelay;
	runningRequests: RunningRequests;
	responseStores: DurableObjectNamespace<ResponseStoreObject>;
	retrievalObjects: RetrievalObjects;
	queryCounts: ReturnType<typeof createQueryCounts>;
	/** For the object of an index, whose own calls were checked. */
	ownShards: Pick<RetrievalObjects, "index">;
	jobStores: DurableObjectNamespace<JobStoreObject>;
	storageBindings: StorageBindings;
	/** The gateway has one process. On Cloudflare, objects and requests are in many. */
	isOnlyProcess: boolean;
};

/** Throws a `ConfigError` if a binding is missing. */
export function createPersistent(
	local: Bindings,
	config: DevelopmentConfig & Pick<Config, "exactLedger" | "limits" | "memoryBytes" | "openFiles" | "shards">,
): Persistent {
	const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
		scheduler.wait(milliseconds, signal ? { signal } : {});
	const now = (): number => Date.now();
	const { exactLedger, gatewayRules, shards } = config;
	const hint = isForDevelopment(config) ? { hint: hintOnce() } : {};
	const { exports, objects, requests } = limitProcess(config, local[WORKERS_BINDING]?.count ?? 1);
	const runningRequests = new RunningRequests(requests, now);
	const exportLine = new FairLine({ name: "exports", max: exports, now });
	const background = new Background({ now, wait, waitUntil: keepAlive, runningRequests });
	const { waitUntil } = background;
	const storeFailed = (cause: unknown): void => {
		if (!isAccountDeleted(cause)) logFailure(new AiError("ledgerUnavailable", undefined, { cause }), "");
	};
	requireObjects(local);
	const workers = workersOf(local);
	const isOnlyProcess = config.openFiles !== undefined && !workers;
	const [guardCounts, openObjects] = [new GuardCounts(), new OpenObjects({ max: objects, now })];
	const uncounted = withRemoteObjects(local, objectNames(local), local[OBJECTS_BINDING]);
	const directoryObject = () => uncounted.DIRECTORY.getByName(DIRECTORY_NAME);
	const deletedAccounts = new DeletedAccounts({
		...{ directory: directoryObject, now, waitUntil: keepAlive },
		isOnlyProcess,
	});
	const checks = { openObjects, deletedAccounts };
	const { bindings, eraseObject, ownBindings, usedObjects } = accountObjects(uncounted, {
		...checks,
		of: (account) => ledgers.of(account),
	});
	const {
		ACCOUNT,
		ASSETS,
		BLOBS,
		FLEET,
		GATEWAY,
		GATEWAYS,
		JOB_STORE,
		PUBLIC_INTERNET,
		RESPONSE_CACHE,
		RESPONSE_STORE,
		WORK_QUEUE,
	} = bindings;
	type Registry = ReturnType<typeof GATEWAYS.getByName>;
	const partOf =
		<Part extends object>(part: (registry: Registry) => Part) =>
		(account: string): Part =>
			callsOfPart(() => part(GATEWAYS.getByName(account)));
	const [failureCounts, requestTimes] = [new FailureCounts(), new RequestTimes()];
	const runtimeDelay = new RuntimeDelay(now);
	const jobPace = new Pace(now, () => runningRequests.size, runtimeDelay);
	const directory = new DirectoryCache({
		...{ now, shards, wait, waitUntil: keepAlive },
		directory: directoryObject,
		isOlder: olderAccounts(local),
	});
	const sealKey = new DeploymentSecret("seals", { directory: directoryObject, failed: storeFailed });
	const ledgers = createLedgers({
		namespace: ACCOUNT,
		directory,
		exact: exactLedger,
		...checks,
		longLeases: config.openFiles !== undefined,
		isOnlyProcess,
		now,
		waitUntil,
		keepAlive,
		wait,
		log: logFailure,
	});
	background.onClose(() => ledgers.flush());
	deletedAccounts.onDeleted((account) => {
		ledgers.forget(account);
		usedObjects.forget(account);
		directory.forget(account);
	});
	const queryCounts = createQueryCounts(bindings, { now, wait, waitUntil, keepAlive });
	background.onClose(() => queryCounts.flushAll());
	// A closure, because workerd's `fetch` throws if it is called with another `this`.
	const calls: typeof fetch = (input, init) => fetch(input, init);
	const health = new IsolateHealth({
		...{ now, waitUntil, isOnlyProcess },
		...(FLEET && {
			exchange: async (reports) => {
				const { writes } = pools.changes;
				const { circuits, replicas } = await FLEET.getByName(FLEET_NAME).exchange(reports);
				pools.changes.replace(replicas, writes);
				return circuits;
			},
		}),
	});
	const pools = createPools({
		...{ fetch: calls, now, wait, waitUntil: keepAlive },
		fleet: FLEET,
		// One call reads the circuits and the replicas.
		readChanges: () => health.exchange(),
		isOnlyProcess,
	});
	const streamRuns = new StreamRuns({ ...streamRunObjects(bindings, checks), now });
	const flushing = { now, wait, waitUntil, failed: storeFailed };
	return {
		...{ fetch: calls, now },
		uuid: () => timeOrderedUuid(now(), crypto.randomUUID()),
		random: () => Math.random(),
		sealKey: () => sealKey.get(),
		log: surfaceLog(logFailure, failureCounts),
		...{ failureCounts, requestTimes },
		gatewayCounters: new GatewayCounters(),
		shadows: createShadows(background),
		...{ directory, eraseObject, ledgers, usedObjects },
		flights: new SingleFlight(),
		unchangedStreams: new UnchangedStreams({ now }),
		deletedAccounts,
		deployedRoutes: new DeployedRoutes({ of: partOf((registry) => registry.dynamicRoutes()), now }),
		aliasPools: new AliasPools({ of: partOf((registry) => registry.aliases()), now }),
		gatewayLimits: new GatewayLimits({
			object: (name) => GATEWAY.getByName(name),
			...flushing,
		}),
		gateways: new Gateways({
			registry: (account) => GATEWAYS.getByName(account),
			now,
			requireObject: (name) => void countObject("GATEWAY", name, checks),
			open: gatewayRules.anyGateway,
			...hint,
		}),
		...hint,
		observers: [
			...observersOf({ log: logFailure, analytics: bindings.ANALYTICS }),
			requestTimes,
			jobPace.observer,
		],
		jobPace,
		runtimeDelay,
		gatewayLogs: new GatewayLogs({
			object: (name) => GATEWAY.getByName(name),
			...flushing,
			deletedAccounts,
			maxPayload: bindings.LOGS_BUCKET ? MAX_STORED_PAYLOAD : MAX_PAYLOAD,
			pause: (leastMs) => runtimeDelay.pause(leastMs),
		}),
		otelExporter: new OtelExporter({
			...flushing,
			exportLine,
			failed(cause, collector) {
				const error = new AiError("upstreamUnavailable", undefined, { cause });
				error.place = collector;
				logFailure(error, "");
			},
		}),
		providerAccesses: new ProviderAccesses({ of: partOf((registry) => registry.providerAccess()), now }),
		...(PUBLIC_INTERNET && {
			publicFetch: (input: RequestInfo | URL, init?: RequestInit) => PUBLIC_INTERNET.fetch(input, init),
		}),
		responseCaches: new ResponseCaches({
			object: (name) => RESPONSE_CACHE.getByName(name),
			now,
			failed: storeFailed,
		}),
		engineFolders: new EngineFolders({ fetch: calls, address: local[ADAPTERS_BINDING] }),
		convertDocument: createConverter(local[DOCUMENTS_BINDING]),
		storageBindings: {
			blobs: BLOBS,
			queue: WORK_QUEUE,
			bucket: bindings.STORAGE_BUCKET,
			deletedAccounts,
			services: { fetch: calls, wait },
		},
		responseStores: RESPONSE_STORE,
		retrievalObjects: retrievalObjects(bindings),
		ownShards: retrievalObjects(ownBindings),
		queryCounts,
		...{ jobStores: JOB_STORE, ...present({ batchEvents: bindings.BATCH_EVENTS }) },
		isOnlyProcess,
		counts() {
			streamRuns.releaseExpired();
			return [
				...[runningRequests, openObjects, exportLine, ...PROCESS_COUNTS].map((count) => count.report()),
				...diskSpace.reports(),
				...guardCounts.latest(),
			];
		},
		guardCounts,
		separatedRequests: () => guardCounts.separated(),
		streamRuns,
		health,
		background,
		runningRequests,
		waitUntil,
		startTimer: new LazyTimers({ keepAlive, now }).start,
		wait,
		// The binding reads only the path.
		...(ASSETS && { assets: (file: string) => ASSETS.fetch(`http://assets/${file}`) }),
		pools,
		...(workers && { workers }),
	};
}
