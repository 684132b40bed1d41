/** The parsed configuration and the runtime, as the pipeline receives them. Types only. */
import type { Accounts } from "../accounts/client/accounts.ts";
import type { DirectoryCache } from "../accounts/client/directory-cache.ts";
import type { BackendServices } from "../backends/backend.ts";
import type { AiError } from "../core/errors.ts";
import type { Metric } from "../core/metric.ts";
import type { CountReport } from "../core/shared-count.ts";
import type { EngineReport, Health } from "../fleet/health.ts";
import type { AliasPools } from "../gateways/client/alias-pools.ts";
import type { DeployedRoutes } from "../gateways/client/deployed-routes.ts";
import type { GatewayLimits } from "../gateways/client/gateway-limits.ts";
import type { GatewayLogs } from "../gateways/client/gateway-logs.ts";
import type { Gateways } from "../gateways/client/gateways.ts";
import type { OtelExporter } from "../gateways/client/otel-exporter.ts";
import type { ProviderAccesses } from "../gateways/client/provider-accesses.ts";
import type { ResponseCaches } from "../gateways/client/response-caches.ts";
import type { StreamRuns } from "../gateways/client/stream-runs.ts";
import type { Catalog } from "../models/catalog.ts";
import type { PoolReport } from "../pools/pool-report.ts";
import type { Pools } from "../pools/pools.ts";
import type { ExchangeObserver } from "../telemetry/exchange-observer.ts";
import type { SingleFlight } from "./dispatch/single-flight.ts";
import type { Limits } from "./limits.ts";
import type { AccountProvider, RouteList, Routing } from "./plan.ts";
import type { Dispatched } from "./request.ts";
import type { UnchangedStreams } from "./unchanged-streams.ts";

/** The services of the pipeline: the configuration, parsed once, and the runtime. */
export interface Services extends BackendServices {
	catalog: Catalog;
	/** Aliases of the configuration. Accounts may set others: src/pipeline/resolve-model.ts. */
	aliases: Aliases;
	routing: Routing & RouteList;
	limits: Limits;
	/** `PUBLIC_URL`: the origin where callers reach this gateway. */
	publicUrl?: string;
	/** Circuit breakers of the engines. */
	health: Health;
	/** The replicas of the backends, and their requests in progress. */
	pools: Pools;
	/** Identical requests under way, by their request key. */
	flights: SingleFlight<Dispatched>;
	/** Engines whose streams need no change. */
	unchangedStreams: UnchangedStreams;
	/** The deployment's key of seals (`src/backends/seals.ts`). Absent: there is none. `undefined`: it cannot be loaded now. */
	sealKey?(): Promise<Uint8Array | undefined>;
	/** 0 to 1. */
	random(): number;
	/** Logs a failure for the operator, without any content of the request. */
	log(error: AiError, requestId: string): void;
	ledgers: Accounts;
	/** The accounts that exist. */
	directory: Pick<DirectoryCache, "list" | "probe">;
	/** The accounts' gateways. */
	gateways: Gateways;
	gatewayLogs: GatewayLogs;
	/** Sends spans to the gateways' collectors. */
	otelExporter: OtelExporter;
	/** The dynamic routes of the gateways. */
	deployedRoutes: DeployedRoutes;
	/** The aliases of the gateways. */
	aliasPools: AliasPools;
	/** The accounts' keys of providers, and their custom providers. */
	providerAccesses: ProviderAccesses;
	/** `AI_GATEWAY` */
	gatewayRules: GatewayRules;
	/** The route of the models of a provider that the account pays. */
	accountRouting(provider: AccountProvider): Routing & RouteList;
	/** Calls custom providers. It refuses private addresses. Absent: `fetch`. */
	publicFetch?: typeof fetch;
	/** The cached answers of the gateways. */
	responseCaches: ResponseCaches;
	/** Streams that can be resumed. */
	streamRuns: StreamRuns;
	/** The limits of the gateways. */
	gatewayLimits: GatewayLimits;
	/** They receive the events of every exchange: the ledger, the log, Analytics Engine. */
	observers: readonly ExchangeObserver[];
	/** Resolves after the time; rejects with the signal's reason if it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
	/** A static file of the deployment, by its name. Absent: there are none. */
	assets?(file: string): Promise<Response>;
	/** What this process holds, by class. */
	counts(): CountReport[];
	/** The processes of the gateway. Absent: this one is the only one. */
	workers?: Workers;
}

/** Processes that run the same Worker, with the same Durable Objects: `ganglion serve --workers`. */
export interface Workers {
	/** The number of this process, from "1". */
	worker: string;
	/** The other processes. */
	peers: readonly Peer[];
}

export interface Peer {
	worker: string;
	report(): Promise<WorkerReport>;
}

/** The state of one process. */
export interface WorkerReport {
	engines: EngineReport[];
	pools: PoolReport[];
	/** Its counters and histograms. */
	metrics: Metric[];
}

/** Permissions of all accounts for their gateways, set by the operator. */
export interface GatewayRules {
	/** Custom providers may have an address in a private network, and `http`. */
	allowPrivateAddresses: boolean;
	/** Gateways without authentication serve requests without a credential. */
	allowUnauthenticated: boolean;
	/** Accounts may call all endpoints of a provider with the key of `PROVIDER_KEYS`. */
	shareProviderKeys: boolean;
	/** Every account has a gateway of every id. */
	anyGateway: boolean;
	/** Requests that another gateway has sent may use custom providers. */
	allowChainedGateways: boolean;
	/** Milliseconds of a request that is passed to a provider: until its header, of one read of its answer, in total. */
	providerTimeouts: { headerMs: number; idleMs: number; totalMs: number };
	/** Streams of `author/model` on the run API are resumable, unless the request has `cf-aig-resumable: false`. */
	resumableStreams: boolean;
}

/** Model ids by alias. */
export interface Aliases {
	everyone: ReadonlyMap<string, string>;
	/** By account. These have precedence. */
	accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
}
