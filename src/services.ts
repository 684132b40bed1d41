/** Creates the services of the pipeline from the configuration and the bindings. */
import { waitUntil as keepAlive } from "cloudflare:workers";
import { OpenObjects } from "./accounts/client/account-object.ts";
import { createLedgers } from "./accounts/client/accounts.ts";
import { DirectoryCache } from "./accounts/client/directory-cache.ts";
import type { Account } from "./accounts/durable/account.ts";
import { DIRECTORY_NAME, type Directory } from "./accounts/durable/directory.ts";
import { createPools } from "./backends/create-pools.ts";
import { capacityOf } from "./config/capacity.ts";
import { type Config, ConfigError } from "./config/index.ts";
import { accountRouting } from "./config/provider-keys.ts";
import {
	OBJECTS_BINDING,
	PEER_BINDING,
	WORKERS_BINDING,
	type WorkersSetting,
} from "./config/worker-bindings.ts";
import { AiError } from "./core/errors.ts";
import { LazyTimers } from "./core/lazy-timer.ts";
import { FLEET_NAME, type Fleet } from "./fleet/fleet.ts";
import { IsolateHealth } from "./fleet/health.ts";
import { AliasPools } from "./gateways/client/alias-pools.ts";
import { DeployedRoutes } from "./gateways/client/deployed-routes.ts";
import { GatewayLimits } from "./gateways/client/gateway-limits.ts";
import { GatewayLogs } from "./gateways/client/gateway-logs.ts";
import { Gateways } from "./gateways/client/gateways.ts";
import { OtelExporter } from "./gateways/client/otel-exporter.ts";
import { ProviderAccesses } from "./gateways/client/provider-accesses.ts";
import { ResponseCaches } from "./gateways/client/response-caches.ts";
import { StreamRuns } from "./gateways/client/stream-runs.ts";
import type { Gateway } from "./gateways/durable/gateway.ts";
import type { GatewayRegistry } from "./gateways/durable/registry.ts";
import type { ResponseCache } from "./gateways/durable/response-cache.ts";
import type { StreamRun } from "./gateways/durable/stream-run.ts";
import { MAX_PAYLOAD, MAX_STORED_PAYLOAD } from "./gateways/logs/payload.ts";
import { Background } from "./http/background.ts";
import type { AppServices } from "./http/services.ts";
import { SingleFlight } from "./pipeline/dispatch/single-flight.ts";
import type { Services, Workers } from "./pipeline/services.ts";
import { UnchangedStreams } from "./pipeline/unchanged-streams.ts";
import type { BlobStore } from "./storage/blobs/blob-store.ts";
import { createStorage, type StorageBindings } from "./storage/create-storage.ts";
import type { WorkQueueObject } from "./storage/queue/work-queue.ts";
import { type ObjectCalls, withRemoteObjects } from "./surfaces/operations/objects.ts";
import { peerOf } from "./surfaces/operations/worker-reports.ts";
import {
	analyticsObserver,
	type ExchangeObserver,
	ledgerObserver,
	logObserver,
} from "./telemetry/exchange-observer.ts";
import { logFailure } from "./telemetry/log.ts";

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
	/** A stream that can be resumed. */
	STREAM_RUN: DurableObjectNamespace<StreamRun>;
	/** The stored objects of each account. */
	BLOBS: DurableObjectNamespace<BlobStore>;
	/** The queue of durable work. */
	WORK_QUEUE: DurableObjectNamespace<WorkQueueObject>;
	/** Large payloads of the gateways' logs. */
	LOGS_BUCKET?: R2Bucket;
	/** Stored objects, instead of the accounts' objects. */
	STORAGE_BUCKET?: R2Bucket;
	/** The files of the console (`console/site`). If absent, there is no console. */
	ASSETS?: Pick<Fetcher, "fetch">;
	/** Set in each process of `ganglion serve --workers N`. */
	[WORKERS_BINDING]?: WorkersSetting;
	/** The process that has the Durable Objects, if it is another one. */
	[OBJECTS_BINDING]?: ObjectCalls;
}

/** The binding reads only the path. */
const ASSETS_ORIGIN = "http://assets";

/** The classes of the bindings that a deployment needs. */
const CLASSES = {
	ACCOUNT: "Account",
	DIRECTORY: "Directory",
	GATEWAYS: "GatewayRegistry",
	GATEWAY: "Gateway",
	RESPONSE_CACHE: "ResponseCache",
	STREAM_RUN: "StreamRun",
	BLOBS: "BlobStore",
	WORK_QUEUE: "WorkQueue",
} as const satisfies Partial<Record<keyof Bindings, string>>;

/** The bindings of Durable Objects that other processes call, or that this process calls in another one. */
export const objectNames = (bindings: Bindings): readonly string[] =>
	bindings[WORKERS_BINDING]?.objects ?? [];

/** The services that depend on the variables. A reload replaces them. */
type Configured = Pick<
	Services,
	"aliases" | "catalog" | "gatewayRules" | "accountRouting" | "limits" | "publicUrl" | "routing" | "webSearch"
>;
/** The services that a reload keeps. */
export type Persistent = Omit<Services, keyof Configured> & {
	background: Background;
	storageBindings: StorageBindings;
};

export const servicesOf = (
	{ aliases, catalog, gatewayRules, routing, limits, publicUrl, storage, webSearch }: Config,
	{ storageBindings, ...persistent }: Persistent,
): AppServices & { background: Background } => ({
	...persistent,
	aliases,
	catalog,
	gatewayRules,
	accountRouting,
	routing,
	limits,
	storage: createStorage(storageBindings, storage),
	...(publicUrl !== undefined && { publicUrl }),
	...(webSearch && { webSearch }),
});

/** Throws a `ConfigError` if a binding is missing. */
export function createPersistent(
	local: Bindings,
	{ exactLedger, gatewayRules, openFiles }: Pick<Config, "exactLedger" | "gatewayRules" | "openFiles">,
): Persistent {
	const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
		scheduler.wait(milliseconds, signal ? { signal } : {});
	const now = (): number => Date.now();
	const background = new Background({ now, wait, waitUntil: keepAlive });
	const { waitUntil } = background;
	const storeFailed = (cause: unknown): void =>
		logFailure(new AiError("ledgerUnavailable", undefined, { cause }), "");
	const bindings = withRemoteObjects(local, objectNames(local), local[OBJECTS_BINDING]);
	const workers = workersOf(local);
	// All open objects are in one process.
	const maxOpenObjects = capacityOf(openFiles).accounts / (local[WORKERS_BINDING]?.count ?? 1);
	const {
		ACCOUNT,
		ASSETS,
		BLOBS,
		DIRECTORY,
		FLEET,
		GATEWAY,
		GATEWAYS,
		PUBLIC_INTERNET,
		RESPONSE_CACHE,
		STREAM_RUN,
		WORK_QUEUE,
	} = bindings;
	// The configuration of a deployment may be older than these classes.
	const missing = Object.entries(CLASSES).filter(
		([name]) => !(bindings as Partial<Bindings>)[name as keyof Bindings],
	);
	if (missing.length > 0)
		throw new ConfigError(
			missing.map(
				([name, className]) =>
					`${name}: expected a Durable Object namespace of the class ${className}, found nothing (docs/configuration.md, Bindings)`,
			),
		);
	const directory = new DirectoryCache({ now, directory: () => DIRECTORY.getByName(DIRECTORY_NAME) });
	const ledgers = createLedgers({
		namespace: ACCOUNT,
		directory,
		exact: exactLedger,
		openObjects: new OpenObjects({ max: Math.ceil(maxOpenObjects), now }),
		now,
		waitUntil,
		keepAlive,
		wait,
		log: logFailure,
	});
	background.onClose(() => ledgers.flush());
	// A closure, because workerd's `fetch` throws if it is called with another `this`.
	const calls: typeof fetch = (input, init) => fetch(input, init);
	const pools = createPools({ fetch: calls, now, wait, waitUntil: keepAlive, fleet: FLEET });
	return {
		fetch: calls,
		now,
		uuid: () => crypto.randomUUID(),
		random: () => Math.random(),
		log: logUnreported(logFailure),
		ledgers,
		directory,
		flights: new SingleFlight(),
		unchangedStreams: new UnchangedStreams({ now }),
		deployedRoutes: new DeployedRoutes({
			routes: (account) => GATEWAYS.getByName(account).dynamicRoutes(),
			now,
		}),
		aliasPools: new AliasPools({ aliases: (account) => GATEWAYS.getByName(account).aliases(), now }),
		gatewayLimits: new GatewayLimits({
			object: (name) => GATEWAY.getByName(name),
			now,
			wait,
			waitUntil,
			failed: storeFailed,
		}),
		gateways: new Gateways({
			registry: (account) => GATEWAYS.getByName(account),
			now,
			open: gatewayRules.anyGateway,
		}),
		observers: observersOf({ ledgers, log: logFailure, analytics: bindings.ANALYTICS }),
		gatewayLogs: new GatewayLogs({
			object: (name) => GATEWAY.getByName(name),
			now,
			wait,
			waitUntil,
			failed: storeFailed,
			maxPayload: bindings.LOGS_BUCKET ? MAX_STORED_PAYLOAD : MAX_PAYLOAD,
		}),
		otelExporter: new OtelExporter({
			now,
			wait,
			waitUntil,
			failed: (cause) => logFailure(new AiError("upstreamUnavailable", undefined, { cause }), ""),
		}),
		providerAccesses: new ProviderAccesses({
			tables: (account) => GATEWAYS.getByName(account).providerAccess(),
			now,
		}),
		...(PUBLIC_INTERNET && {
			publicFetch: (input: RequestInfo | URL, init?: RequestInit) => PUBLIC_INTERNET.fetch(input, init),
		}),
		responseCaches: new ResponseCaches({
			object: (name) => RESPONSE_CACHE.getByName(name),
			now,
			failed: storeFailed,
		}),
		storageBindings: {
			blobs: BLOBS,
			queue: WORK_QUEUE,
			bucket: bindings.STORAGE_BUCKET,
			services: { fetch: calls, wait },
		},
		streamRuns: new StreamRuns(STREAM_RUN),
		health: new IsolateHealth({
			now,
			waitUntil,
			...(FLEET && {
				exchange: async (reports) => {
					const readAt = now();
					const { circuits, replicas } = await FLEET.getByName(FLEET_NAME).exchange(reports);
					pools.changes.replace(replicas, readAt);
					return circuits;
				},
			}),
		}),
		background,
		waitUntil,
		startTimer: new LazyTimers({ keepAlive, now }).start,
		wait,
		...(ASSETS && { assets: (file: string) => ASSETS.fetch(`${ASSETS_ORIGIN}/${file}`) }),
		pools,
		...(workers && { workers }),
	};
}

function workersOf(bindings: Bindings): Workers | undefined {
	const { number } = bindings[WORKERS_BINDING] ?? {};
	if (number === undefined) return undefined;
	const sockets = Object.entries<unknown>({ ...bindings }).filter(([name]) => name.startsWith(PEER_BINDING));
	return {
		worker: String(number),
		peers: sockets.map(([name, socket]) => peerOf(name.slice(PEER_BINDING.length), socket as Fetcher)),
	};
}

/** The log of the surfaces. Skips failures of an exchange, because its observers have logged them. */
export const logUnreported =
	(log: Services["log"]): Services["log"] =>
	(error, requestId) => {
		if (!error.exchange) log(error, requestId);
	};

/** The observers of every exchange. */
export const observersOf = ({
	ledgers,
	log,
	analytics,
}: Pick<Services, "ledgers" | "log"> & {
	analytics?: AnalyticsEngineDataset | undefined;
}): ExchangeObserver[] => [
	ledgerObserver(ledgers),
	...(analytics ? [analyticsObserver(analytics)] : []),
	logObserver(log),
];
