/** The parsed configuration and the runtime, as the pipeline receives them. Types only. */
import type { Accounts } from "../accounts/client/ledgers-services.ts";
import type { BackendServices } from "../backends/backend.ts";
import type { Health } from "../fleet/health.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Pools } from "../pools/pools.ts";
import type { ExchangeObserver } from "../telemetry/exchange-observer.ts";
import type { SingleFlight } from "./dispatch/single-flight.ts";
import type { Limits } from "./limits.ts";
import type { RouteList, Routing } from "./plan.ts";
import type { EngineAnswer } from "./request.ts";
import type { UnchangedStreams } from "./unchanged-streams.ts";

/**
 * What the pipeline reads: the configuration, parsed once, and the runtime. Each room above it extends this interface by its own
 * services.
 */
export interface PipelineServices extends BackendServices {
	catalog: Catalog;
	/** Aliases of the configuration. Accounts may set others: src/pipeline/resolve-model.ts. */
	aliases: Aliases;
	routing: Routing & RouteList;
	limits: Limits;
	/** Circuit breakers of the engines. */
	health: Health;
	/** The replicas of the backends, and their requests in progress. */
	pools: Pools;
	/** Identical requests under way, by their request key. */
	flights: SingleFlight<EngineAnswer>;
	/** Engines whose streams need no change. */
	unchangedStreams: UnchangedStreams;
	/** The deployment's key of seals (`src/backends/seals.ts`). Absent: there is none. `undefined`: it cannot be loaded now. */
	sealKey?(): Promise<Uint8Array | undefined>;
	/** 0 to 1. */
	random(): number;
	ledgers: Accounts;
	/** They receive the events of every exchange: the log, Analytics Engine. */
	observers: readonly ExchangeObserver[];
	/** Resolves after the time; rejects with the signal's reason if it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** What the calls of engines read. */
export type DispatchServices = BackendServices &
	Pick<PipelineServices, "health" | "random" | "sealKey" | "wait">;

/** Model ids by alias. */
export interface Aliases {
	everyone: ReadonlyMap<string, string>;
	/** By account. These have precedence. */
	accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
}
