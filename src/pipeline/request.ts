/** A request to the pipeline, and its reply. Types only. */
import type { Credential } from "../accounts/admission.ts";
import type { VerifiedCredential } from "../accounts/bound-gateway.ts";
import type { CallReport } from "../backends/backend.ts";
import type { Dialect, Rendered } from "../dialects/dialect.ts";
import type { Model } from "../models/model.ts";
import type { Progress, TaskAnswer, TaskCall } from "../tasks/task.ts";
import type { ExchangeObserver } from "../telemetry/exchange-observer.ts";

export interface Caller {
	account: string;
	credential: Credential;
	/** The credential is verified. Absent: admission verifies it. Until then no failure is disclosed to the caller. */
	readonly verified?: boolean;
	/** What the account knows of the credential. Absent: it has not been called. */
	readonly identity?: VerifiedCredential;
}

export interface InferenceRequest {
	/** `cf-ai-req-id` of the reply. */
	id: string;
	caller: Caller;
	/** The name that the caller sent: an id or an alias. */
	model: string;
	/** The dialect of the surface for this model. Most surfaces use the model's own. */
	dialect(model: Model): Dialect | Promise<Dialect>;
	inputs: Inputs;
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
	/**
	 * Session key of this account: `x-session-affinity`, or the equivalent header of a coding agent. Requests of one session go
	 * to the same engine, if the route or its replicas allow a choice.
	 */
	session?: string;
	options?: RequestOptions;
	/** Receive the events of this request, after the observers of all requests. */
	observers?: readonly ExchangeObserver[] | undefined;
}

export interface RequestOptions {
	/** `x-ganglion-single-flight`: identical requests under way may share one answer. */
	singleFlight?: boolean;
	/** Fails with 3040 at once instead of waiting for a busy engine. */
	rejectIfBusy?: boolean;
	/** `x-ganglion-priority: batch`: waits for the capacity of a pool after all other requests. */
	priority?: "batch";
}

export interface Inputs {
	fields: unknown;
	/** A complete body that is not JSON. The dialect knows which input it is. */
	body?: { bytes: Uint8Array<ArrayBuffer>; contentType: string };
	/** Query parameters: some dialects read options from them if the body is not JSON. */
	query?: Record<string, string | string[]>;
}

export interface Reply {
	model: Model;
	served: Served;
	/** `cf-ai-neurons`. Absent for streams and sockets, whose cost is known at their end. */
	neurons?: number;
	/** `x-ganglion-dropped`: parts of the request that no engine received. */
	dropped?: readonly string[];
	body: Rendered;
}

/** The engine that answered, and the number of calls. For a stream it is final when the stream has ended. */
export interface Served {
	/** Name in `BACKENDS`: `x-ganglion-backend`. */
	backend: string;
	/** The backend's name in `KINDS`. Absent before the answer. */
	kind?: string;
	/** The engine's name of the model. */
	model: string;
	/** `x-ganglion-weights`. Absent: the route names none. */
	weights?: string | undefined;
	/** `x-ganglion-attempts` */
	attempts: number;
	/** Output of engines that is not part of the answer: the loser of a hedge, or an interrupted stream that another engine repeated. */
	wasted: Wasted[];
	/** What the backend did with the request. Absent if it received the parts that the dialect read. */
	report?: CallReport;
	/** The answer belongs to another, identical request, which pays for these calls. */
	shared?: true;
}

interface Wasted {
	/** `hedge`: the loser of a hedge, which is charged. `cut`: an interrupted stream, which is not. */
	why: "hedge" | "cut";
	backend: string;
	model: string;
	progress: Progress;
}

/** An answer of an engine, or of another request. */
export interface EngineAnswer {
	/** The call that was answered. */
	call: TaskCall;
	answer: TaskAnswer;
	/** Changes while a stream is read. */
	served: Served;
}
