/** The routes, and the plan that a route gives one request. */
import type { Target } from "../backends/backend.ts";
import type { CircuitState } from "../fleet/breaker.ts";
import type { Price } from "../models/model.ts";

/** Who may answer, in the order to ask them, and how hard to try. */
export interface Plan {
	targets: readonly [PlannedTarget, ...PlannedTarget[]];
	/** Milliseconds for all calls of engines together. Absent: only each target's own time ends it. */
	totalMs?: number;
	retries: Retries;
	/** Milliseconds without the beginning of an answer, after which a second target is asked, too. */
	hedgeMs?: number;
	/** Streams that are asked for in the engines' own dialect are passed on as they are. */
	passthrough?: true;
}

export interface PlannedTarget extends Target {
	continues?: Continuation;
	/** `model` is a name of the caller's choice, which nobody here knows. */
	anyModel?: true;
	/** State of its circuit breaker when the plan was made. */
	circuit: CircuitState;
}

/**
 * How an engine is made to go on with an assistant message that has begun. `prefill`: the message comes last. `vllm`:
 * so, with `continue_final_message` and without the template's generation prompt, as vLLM and SGLang want it.
 */
export type Continuation = "prefill" | "vllm";

export interface Retries {
	/** Calls of one target, the first included. */
	attempts: number;
	/** Longest pause before the second call; it doubles with each further one. */
	baseMs: number;
	/** Longest pause, an engine's `Retry-After` included. */
	maxMs: number;
}

export interface Routing {
	find(modelId: string): Routed | undefined;
}

/** What serves a model. */
export interface Routed {
	targets: WeightedTarget[];
	/** Whether a route names the model, exactly or by a pattern; otherwise the default backend serves it. */
	named: boolean;
	/** Whether a request may cost the operator something: a model without a price is then not free, its price is unknown. */
	billed: boolean;
	/**
	 * Whether inputs are validated as Workers AI does. Setting `strict` of the route; true by default where every target
	 * is the simulator or Workers AI itself. Lenient reading accepts what engines and published clients need, `null` for
	 * "not set" above all.
	 */
	strict: boolean;
	settings?: RouteSettings;
}

/** Of one route. */
export interface RouteSettings extends Partial<Omit<Plan, "targets">> {
	/** Weights hold for sessions, not for requests. */
	sticky?: "session";
}

export interface WeightedTarget extends Omit<Target, "url"> {
	/** Replicas of one engine. */
	urls: [string, ...string[]];
	/** Of models that have no price of their own. */
	prices?: readonly Price[];
	weight?: number;
	continues?: Continuation;
	/** `model` is whatever the caller named, by a route of many. */
	anyModel?: true;
}

export const DEFAULT_RETRIES: Retries = { attempts: 2, baseMs: 250, maxMs: 5_000 };
