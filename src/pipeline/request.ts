/** A request to the pipeline, and its reply. Types only. */
import type { Credential } from "../accounts/admission.ts";
import type { Dialect, Rendered } from "../dialects/dialect.ts";
import type { Model } from "../models/model.ts";
import type { Progress, TaskAnswer, TaskCall } from "../tasks/task.ts";

export interface Caller {
	account: string;
	credential: Credential;
	/** The credential is verified. Absent: admission verifies it. Until then no failure is disclosed to the caller. */
	readonly verified?: boolean;
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

/** An answer of an engine, or of another request. */
export interface Dispatched {
	/** The call that was answered. */
	call: TaskCall;
	answer: TaskAnswer;
	/** Changes while a stream is read. */
	served: Served;
}
