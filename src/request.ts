/**
 * The nouns that cross folders. Types only.
 *
 * *surface*: a door, and how what passes through it is wrapped. *dialect*: how inputs and answers are written.
 * *task*: what is asked. *model*: a catalogue entry. *backend*: an upstream dialect. *target*: one address speaking
 * it. *plan*: targets in order. *account*: who pays. *caller*: who asks, and for which account.
 */
import type { Target, World } from "./backends/backend.ts";
import type { Dialect, Rendered } from "./dialects/dialect.ts";
import type { AiError } from "./errors.ts";
import type { Catalog } from "./models/catalog.ts";
import type { Model, TaskTitle } from "./models/model.ts";
import type { Credential, Ledgers } from "./objects/admission.ts";

export interface Caller {
	account: string;
	credential: Credential;
	/**
	 * Set once the account has been asked about the credential, or nobody need ask. Before that nothing is told of what
	 * else is wrong with a request.
	 */
	known?: boolean;
}

export interface InferenceRequest {
	/** `cf-ai-req-id` of the reply. */
	id: string;
	caller: Caller;
	/** As the caller named it. */
	model: string;
	/** The route's dialect for this model; most routes have the model's own. */
	dialect(model: Model): Dialect;
	/** The caller's inputs: JSON, or fields and one body. */
	inputs: Inputs;
	/** Fires when the caller has left. */
	signal: AbortSignal;
}

export interface Inputs {
	fields: unknown;
	/** A body that is not JSON, read whole; the dialect knows which input it is. */
	body?: { bytes: Uint8Array<ArrayBuffer>; contentType: string };
}

export interface Reply {
	model: Model;
	served: Served;
	/** `cf-ai-neurons`. Absent of streams and sockets, which tell it at their end. */
	neurons?: number;
	body: Rendered;
}

/** Who answered, and after how many calls of engines. Of a stream it is final when the stream has ended. */
export interface Served {
	/** Name in `BACKENDS`: `x-ganglion-backend`. */
	backend: string;
	/** The engine's name of the model. */
	model: string;
	/** `x-ganglion-attempts` */
	attempts: number;
}

export type Plan = readonly [Target, ...Target[]];

/** What the pipeline is given: configuration parsed once, and the world it runs in. */
export interface Services extends World {
	catalog: Catalog;
	routing: Routing;
	limits: Limits;
	/** 0 to 1. */
	random(): number;
	/** Tells the operator of a failure, without a word of what was asked. */
	log(error: AiError, requestId: string): void;
	ledgers: Ledgers;
	/** Keeps the request's context alive until the promise is settled, also after the caller has gone. */
	waitUntil(promise: Promise<unknown>): void;
	/** Resolves after so many milliseconds; rejects with the signal's reason when it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Routing {
	/** Targets for a model id; `named` where a route names it (exactly or by pattern), not the default backend. */
	find(modelId: string): { targets: WeightedTarget[]; named: boolean } | undefined;
}

export interface WeightedTarget extends Omit<Target, "url"> {
	/** Replicas of one engine. */
	urls: [string, ...string[]];
	weight?: number;
}

/** Of one request. */
export interface SizeLimits {
	/** Largest JSON body. */
	jsonBytes: number;
	/** Largest audio, image or form. */
	uploadBytes: number;
	/** Deepest nesting of a JSON body. */
	jsonDepth: number;
}

export interface Limits extends SizeLimits {
	/** Of every account that is not in `accounts`. */
	everyone: AccountLimits;
	accounts: ReadonlyMap<string, AccountLimits>;
}

/** What one account may ask for. */
export interface AccountLimits {
	/** `free`: has no models that need the paid plan. */
	plan: "free" | "paid";
	/** Neurons a UTC day. Absent: without end. */
	dailyNeurons?: number;
	/** By task; a task that is not here has no limit. */
	requestsPerMinute: Partial<Record<TaskTitle, number>>;
	/** Whether the models that have a rate of their own in the product have it here. */
	productRates: boolean;
	/** By model: instead of the task's rate, and within the account's budget. */
	models: ReadonlyMap<string, ModelLimits>;
}

export interface ModelLimits {
	requestsPerMinute?: number;
	/** Neurons a UTC day. */
	dailyNeurons?: number;
}
