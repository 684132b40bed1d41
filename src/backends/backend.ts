/**
 * A backend speaks one upstream's dialect: a function from a target to the tasks that it can do there. What is in the
 * table is what it can do.
 *
 * An entry makes one upstream call (or the few that its upstream needs for one answer). It does not retry, meter or
 * log, and does not know the caller. It throws `AiError`: retryable when another target may do better. It owns the
 * upstream's connection until it returns; a stream that it returned belongs to whoever reads it (see `Answer`).
 */

import type { Model } from "../models/model.ts";
import type { Answer, StreamErrorFormatter, TaskInput, TaskName } from "../tasks/task.ts";
import type { BackendKind } from "./kinds.ts";

export interface Timeouts {
	/** Milliseconds from the request to the upstream's status line. */
	headerMs: number;
	/** Milliseconds from there to the first piece of the body; absent: as between two. */
	firstTokenMs?: number;
	/** Milliseconds between two pieces of a body. */
	idleMs: number;
	/** Milliseconds for the whole. */
	totalMs: number;
}

/** One address that speaks one dialect, and the model to ask it for. */
export interface Target {
	/** Name in `BACKENDS`. */
	backend: string;
	kind: BackendKind;
	/** Base address, no slash at its end. Empty for the simulator. */
	url: string;
	/** The upstream's name of the model. */
	model: string;
	/** Adapters of that model that a caller may name; one that ends in `*` stands for all names that begin so. */
	loras?: readonly string[];
	/** The secret itself, resolved. Never in an error, a log or a reply. */
	key?: string;
	headers: Record<string, string>;
	timeouts: Timeouts;
	/** `anywhere`: the engine's chat template takes system messages in the middle of a conversation. Absent: by its kind and host. */
	systemMessages?: "first" | "anywhere";
	/** Tokens of context that Ollama gives the model. */
	numCtx?: number;
	/** Asked instead of an address, which is then empty. */
	binding?: AiBinding;
}

/** What of the runtime's `Ai` is used. With `returnRawResponse` it gives the answer as it came, refusals included. */
export interface AiBinding {
	run(model: string, inputs: Record<string, unknown>, options: Record<string, unknown>): Promise<Response>;
}

/** What a backend is given of the world. */
export interface World {
	fetch: typeof fetch;
	/** Epoch milliseconds. */
	now(): number;
	uuid(): string;
	/** Goes on with what was begun when the request is over, and also after its caller has gone. */
	waitUntil(promise: Promise<unknown>): void;
}

export interface CallContext {
	/** The catalogue's model, which the caller named. */
	model: Model;
	/** Fires when the caller has left. */
	signal: AbortSignal;
	/** Set: an upstream's own stream of OpenAI chunks is to be passed on as it is, where the upstream has one. */
	formatStreamError?: StreamErrorFormatter;
}

export type BackendTasks = {
	[Name in TaskName]?: (input: TaskInput<Name>, context: CallContext) => Promise<Answer<Name>>;
};

export type Backend = (target: Target, world: World) => BackendTasks;
