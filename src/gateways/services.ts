/** What the gateways need, in addition to what the runs in them need: these may store their responses. Types only. */
import type { KeptBytes } from "../core/kept-bytes.ts";
import type { Metric } from "../core/metric.ts";
import type { Limits } from "../pipeline/limits.ts";
import type { RouteList, Routing } from "../pipeline/plan.ts";
import type { AccountProvider } from "../providers/account-provider.ts";
import type { ResponsesServices } from "../responses/services.ts";
import type { FailureCounts } from "../telemetry/failure-counts.ts";
import type { GatewayLimits } from "./client/gateway-limits.ts";
import type { GatewayLogs } from "./client/gateway-logs.ts";
import type { Gateways } from "./client/gateways.ts";
import type { OtelExporter } from "./client/otel-exporter.ts";
import type { AliasPools, DeployedRoutes, ProviderAccesses } from "./client/registry-parts.ts";
import type { ResponseCaches } from "./client/response-caches.ts";
import type { StreamRuns } from "./client/stream-runs.ts";
import type { EndedRequest } from "./ended-request.ts";
import type { GatewayCounters } from "./export/counters.ts";
import type { CacheLimits } from "./middleware/cache.ts";
import type { ShadowRoutes } from "./shadows/shadow-routes.ts";

/** Limits of the requests, and of the bytes that a gateway and an account may keep. */
export interface KeepingLimits extends Limits, CacheLimits, KeptBytes {}

export interface GatewayServices extends ResponsesServices {
	limits: KeepingLimits;
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
	/** The cached answers of the gateways. */
	responseCaches: ResponseCaches;
	/** Streams that can be resumed. */
	streamRuns: StreamRuns;
	/** The limits of the gateways. */
	gatewayLimits: GatewayLimits;
	/** What this process counts for `/metrics`. */
	gatewayCounters: GatewayCounters;
	/** The setting `shadow` of the routes. */
	shadowRoutes: ShadowRoutes;
	/** Sends requests to the shadows of their routes. */
	shadows: { ended(request: EndedRequest, services: GatewayServices): void; metrics(): Metric[] };
	failureCounts: FailureCounts;
	/** `AI_GATEWAY` */
	gatewayRules: GatewayRules;
	/** The route of the models of a provider that the account pays. */
	accountRouting(provider: AccountProvider): Routing & RouteList;
	/** Calls custom providers. It refuses private addresses. Absent: `fetch`. */
	publicFetch?: typeof fetch;
	/** `PUBLIC_URL`: the origin where callers reach this gateway. */
	publicUrl?: string;
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
