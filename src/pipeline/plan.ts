/** Routes, and the plan that a route makes for one request. */
import type { Target } from "../backends/backend.ts";
import type { CircuitState } from "../fleet/breaker.ts";
import type { Price } from "../models/model.ts";
import type { PoolSettings } from "../pools/pool-settings.ts";
import type { BackendPool } from "../pools/pools.ts";

/** The targets of a request in the order in which they are tried, and the limits of the tries. */
export interface Plan {
	targets: readonly [PlanTarget, ...PlanTarget[]];
	/** Milliseconds for all calls of engines together. Absent: only the timeouts of each target apply. */
	totalMs?: number;
	retries: Retries;
	/** Milliseconds after which a second target is called in parallel, if the first has not started to answer. */
	hedgeMs?: number;
	/** Whether a stream in the caller's dialect is passed through byte for byte. Absent: if it needs no change. */
	passthrough?: boolean;
	/** Milliseconds of a stream that must be rewritten are read together. Absent: each chunk is read at once, unless many arrive. */
	coalesceMs?: number;
}

export interface PlannedTarget extends Target {
	continues?: Continuation | false;
	/** The caller chose the name in `model`, and the catalogue does not know it. */
	anyModel?: true;
	/** State of its circuit breaker when the plan was made, or when its pool chose it. */
	circuit: CircuitState;
}

/** A backend with several replicas. Its pool chooses one at the time of each attempt. */
export interface PooledTarget extends Omit<PlannedTarget, "url" | "circuit"> {
	pool: BackendPool;
}

export type PlanTarget = PlannedTarget | PooledTarget;

export const isPooled = (target: PlanTarget): target is PooledTarget => "pool" in target;

/**
 * How to make an engine continue an unfinished assistant message. Absent: it gets the request again. `false`: it does not take over a
 * stream that another engine, or it itself, started. `prefill`: send it as the last message. `vllm`: the same,
 * with `continue_final_message` and without the template's generation prompt, as vLLM and SGLang require.
 */
export type Continuation = "prefill" | "vllm";

export interface Retries {
	/** Calls of one target, including the first. */
	attempts: number;
	/** Longest pause before the second call. It doubles with each further call. */
	baseMs: number;
	/** Longest pause, including an engine's `Retry-After`. */
	maxMs: number;
}

export interface Routing {
	find(modelId: string): ResolvedRoute | undefined;
}

export interface RouteList {
	/** The routes in the order of the configuration. The default backend comes last. */
	list(): RouteSummary[];
}

/** A route for the operator. */
export interface RouteSummary {
	/** A model id, in which `*` matches any text. */
	pattern: string;
	targets: {
		backend: string;
		urls: readonly string[];
		pool?: PoolSettings;
		model?: string;
		weight?: number;
		weights?: string;
	}[];
}

/** The targets that serve a model, and how. */
export interface ResolvedRoute {
	targets: WeightedTarget[];
	/** A route matches the model, exactly or by a pattern. Otherwise the default backend serves it. */
	named: boolean;
	/** A request may cost the operator something, so a model without a price has an unknown price, not none. */
	billed: boolean;
	/**
	 * Whether inputs are validated as Workers AI does: setting `strict` of the route; by default true if every target is the
	 * simulator or Workers AI itself. Lenient validation accepts what engines and published clients need, for example `null` for
	 * a field that is not set.
	 */
	strict: boolean;
	/** A target serves a provider's own models: it does not get the defaults of the catalogue (`src/backends/own-models.ts`). */
	ownModels?: true;
	/** All targets are the simulator, which counts tokens as the gateway does. */
	isSimulated?: true;
	settings?: RouteSettings;
}

/** Settings of one route. */
export interface RouteSettings extends Partial<Omit<Plan, "targets">> {
	/** Weights distribute sessions, not requests. */
	sticky?: "session";
}

export interface WeightedTarget extends Omit<Target, "url"> {
	/** Replicas of one engine. */
	urls: [string, ...string[]];
	/** How one of several replicas is chosen. */
	pool?: PoolSettings;
	/** For models without a price of their own. */
	prices?: readonly Price[];
	weight?: number;
	continues?: Continuation | false;
	/** The route matches many models, and `model` is the name that the caller sent. */
	anyModel?: true;
}

/** A backend from the configuration: a target without a model. */
export type ConfiguredBackend = Omit<WeightedTarget, "model" | "weight">;

export const DEFAULT_RETRIES: Retries = { attempts: 2, baseMs: 250, maxMs: 5_000 };
