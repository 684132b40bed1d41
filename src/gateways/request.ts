/** A request to a gateway, and the middleware that it passes. */
import type { KeyLimit } from "../providers/provider-key.ts";
import type { GatewayExchange } from "./exchange.ts";
import type { GatewayOptions } from "./options.ts";
import type { GatewaySettings } from "./settings.ts";

/** The provider of the models of the catalogue. */
export const WORKERS_AI = "workers-ai";

/**
 * One step of a request: a call of a model or of a provider's address. A request of the universal address has several
 * steps, which are tried in order. All other requests have one.
 */
export interface GatewayStep {
	/** The provider's slug, such as `workers-ai` or `openai`. */
	provider: string;
	/** The path below the provider's address, with its query. */
	endpoint: string;
	/** The model's name, if the step names one. */
	model?: string | undefined;
	/** The provider and the model that `{provider}/{model}` in the body of a request to `compat` names. */
	compat?: { provider: string; model: string } | undefined;
	/** The id of the model in the catalogue, for the log. */
	modelId?: string | undefined;
	/** The inputs as the caller sent them. */
	body: StepBody;
	/** What a provider receives beside or instead of `body`, if the step is passed to one. */
	passed?: { headers: Headers; body?: Uint8Array<ArrayBuffer> | string | undefined } | undefined;
	/**
	 * Other conditions of the answer's bytes: the surface's format, such as the v4 envelope or none. The key of the cache
	 * contains it.
	 */
	format: string;
	/** `run`: the run API, `/ai/run` and `env.AI.run`. Guardrails have other codes there, and do not hold streams back. */
	plane: "gateway" | "run";
	/**
	 * Identity of the provider's key: a hash of the key that the request contains, or the alias of a stored one. Callers with
	 * different keys share no cached answer. `undefined`: the key of the operator.
	 */
	providerKey: string | undefined;
	/** Of the stored key that the step uses, if it has one. */
	keyLimit?: KeyLimit | undefined;
	options: GatewayOptions;
	/**
	 * Calls the model once. The response has the format of the surface, also if its status is a failure. `signal`: fires when
	 * the answer is no longer needed. `exchange`: receives the usage.
	 */
	call(signal: AbortSignal, exchange: GatewayExchange): Promise<Response>;
}

export interface StepBody {
	contentType: string;
	/** JSON as a value, or the bytes of another body. */
	content: { json: unknown } | { bytes: Uint8Array<ArrayBuffer> };
	/** Other inputs, such as the query parameters beside an audio file. */
	parameters?: unknown;
}

export interface PlannedStep {
	step: GatewayStep;
	/** The index of the universal request's step. 0 for other requests. */
	index: number;
	/** Another step follows if this one fails. */
	hasFallback?: boolean;
}

/** Yields the steps of a request. It receives the answer to each before it yields the next. */
export type StepPlan = AsyncGenerator<PlannedStep, void, Response | undefined>;

export interface GatewayRequest {
	account: string;
	settings: GatewaySettings;
	step: GatewayStep;
	/** Index of the step. */
	index: number;
	/** Another step follows if this one fails. */
	hasFallback: boolean;
	exchange: GatewayExchange;
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
}

/**
 * Receives a request and the next middleware. It may answer itself, or look at the answer. It throws an `AiError` to refuse
 * the request.
 *
 * @example
 * ```ts
 * // test/extending/quiet-hours.ts
 * export const quietHours =
 * 	({ now }: { now(): number }): GatewayMiddleware =>
 * 	async (request, next) => {
 * 		const hour = new Date(now()).getUTCHours();
 * 		if (hour >= 22 || hour < 6) throw new AiError("gatewayLimited", "Try again at 6:00 UTC");
 * 		return next(request);
 * 	};
 * ```
 */
export type GatewayMiddleware = (
	request: GatewayRequest,
	next: (request: GatewayRequest) => Promise<Response>,
) => Promise<Response>;

/** Passes the request through the middleware, outermost first, and then calls the step. */
export function composed(middleware: readonly GatewayMiddleware[]) {
	return middleware.reduceRight<(request: GatewayRequest) => Promise<Response>>(
		(next, layer) => (request) => layer(request, next),
		({ step, signal, exchange }) => step.call(signal, exchange),
	);
}
