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
import type { Model, Price, TaskTitle } from "./models/model.ts";
import type { Accounts } from "./objects/accounts.ts";
import type { Credential } from "./objects/admission.ts";
import type { Standing } from "./objects/breaker.ts";
import type { Flights } from "./objects/flights.ts";
import type { Health } from "./objects/health.ts";
import type { KnownAccounts } from "./objects/known-accounts.ts";
import type { Progress, TaskAnswer } from "./tasks/task.ts";

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
	/**
	 * `x-session-affinity`, or what coding agents have instead, of this account: requests of one session go to one engine,
	 * where its route or its replicas allow a choice.
	 */
	session?: string;
	options?: RequestOptions;
}

export interface RequestOptions {
	/** `x-ganglion-single-flight`: an identical request that is being answered may answer this one, too. */
	singleFlight?: boolean;
	/** No engine that is busy is waited for: 3040 at once. */
	rejectIfBusy?: boolean;
}

export interface Inputs {
	fields: unknown;
	/** A body that is not JSON, read whole; the dialect knows which input it is. */
	body?: { bytes: Uint8Array<ArrayBuffer>; contentType: string };
	/** Parameters of the address: options beside a body that is not JSON, for the dialects that read them. */
	query?: Record<string, string | string[]>;
}

export interface Reply {
	model: Model;
	served: Served;
	/** `cf-ai-neurons`. Absent of streams and sockets, which tell it at their end. */
	neurons?: number;
	/** `x-ganglion-dropped`: parts of the request that were left out. */
	dropped?: readonly string[];
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
	/** What engines did beside the answer: a hedge that lost, a stream that was cut and said again by another. */
	wasted: Wasted[];
	/** The answer is another request's, who asked the same at the same time: these calls are that one's. */
	shared?: true;
}

export interface Wasted {
	/** `hedge`: a second engine was asked to be sooner, which is paid. `cut`: it broke off, which is not. */
	why: "hedge" | "cut";
	backend: string;
	model: string;
	progress: Progress;
}

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
	/** Of its circuit breaker, when the plan was made. */
	standing: Standing;
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

/** What the pipeline is given: configuration parsed once, and the world it runs in. */
export interface Services extends World {
	catalog: Catalog;
	/** Of the configuration. Accounts may set others: src/pipeline/aliases.ts. */
	aliases: Aliases;
	routing: Routing;
	limits: Limits;
	/** `PUBLIC_URL`: the origin where callers reach this gateway. */
	publicUrl?: string;
	/** What is known of the engines: which are left alone for a while. */
	health: Health;
	/** Identical requests under way, by a hash of what they ask. */
	flights: Flights<{ answer: TaskAnswer; served: Served }>;
	/** 0 to 1. */
	random(): number;
	/** Tells the operator of a failure, without a word of what was asked. */
	log(error: AiError, requestId: string): void;
	ledgers: Accounts;
	/** Which accounts exist. */
	directory: Pick<KnownAccounts, "list">;
	/** A point for every request that ends: the binding `ANALYTICS`, where there is one. */
	analytics?: Pick<AnalyticsEngineDataset, "writeDataPoint">;
	/** Resolves after so many milliseconds; rejects with the signal's reason when it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Names for models, each with the id of its model. */
export interface Aliases {
	everyone: ReadonlyMap<string, string>;
	/** By account; these come first. */
	accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export interface Routing {
	find(modelId: string): Routed | undefined;
}

/** What serves a model. */
export interface Routed {
	targets: WeightedTarget[];
	/** Whether a route names the model, exactly or by a pattern; otherwise the default backend serves it. */
	named: boolean;
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

/** Of one request. */
export interface SizeLimits {
	/** Largest JSON body. */
	jsonBytes: number;
	/** Largest audio, image or form. */
	uploadBytes: number;
	/** Deepest nesting of a JSON body. */
	jsonDepth: number;
	/** Longest time in which a body arrives. */
	bodyMs: number;
}

export interface Limits extends SizeLimits {
	/** Milliseconds after which nobody will settle a request any more, and its reservation becomes its bill. */
	holdMs: number;
	/** Of every account that is not in `accounts`. */
	everyone: AccountLimits;
	accounts: ReadonlyMap<string, AccountLimits>;
}

/** What one account may ask for. */
export interface AccountLimits extends NeuronLimits {
	/** `free`: has no models that need the paid plan. */
	plan: "free" | "paid";
	/** By task; a task that is not here has no limit. */
	requestsPerMinute: Partial<Record<TaskTitle, number>>;
	/** Whether the models that have a rate of their own in the product have it here. */
	productRates: boolean;
	/** By model: instead of the task's rate, and within the account's budget. */
	models: ReadonlyMap<string, ModelLimits>;
}

export interface ModelLimits extends NeuronLimits {
	requestsPerMinute?: number;
}

/** Absent: no limit. */
export interface NeuronLimits {
	/** In a UTC day. */
	dailyNeurons?: number;
	/** In a UTC month. */
	monthlyNeurons?: number;
}
