/**
 * A backend calls one kind of upstream. It is a function from a target to a table of the tasks that it supports.
 *
 * Each function of the table makes one upstream call, or the few that the upstream needs for one answer. It does not
 * retry, meter or log, and does not know the caller. It throws `AiError`, retryable if another target may succeed. It
 * owns the upstream's connection until it returns; the reader owns a returned stream (see `Answer`).
 */
import type { AiError } from "../core/errors.ts";
import type { StartTimer } from "../core/lazy-timer.ts";
import type { Usage } from "../core/usage.ts";
import type { Model } from "../models/model.ts";
import type { Disaggregation } from "../pools/prefill-decode/settings.ts";
import type { Answer, StreamEndFormatter, TaskInput, TaskName } from "../tasks/task.ts";
import type { AccountAdapter, AdapterSettings, RequestAdapters } from "./adapters.ts";
import type { Seals } from "./seals.ts";

export interface Timeouts {
	/** Milliseconds from the request to the upstream's status line. */
	headerMs: number;
	/** Milliseconds from there to the first event of a stream. Absent: `idleMs`, from the last bytes. */
	firstTokenMs?: number;
	/** Milliseconds between two pieces of a body. */
	idleMs: number;
	/** Milliseconds for the complete call. */
	totalMs: number;
}

/** One address with one API, and the name of the model there. */
export interface Target {
	/** Name in `BACKENDS`. */
	backend: string;
	/** Name in `KINDS`. */
	kind: string;
	/** Base address without a trailing slash. Empty for the simulator and for a binding. */
	url: string;
	/** The upstream's name for the model. */
	model: string;
	/** The weights behind the model: `{repository}@{revision}; {relation}`. */
	weights?: string;
	/** Adapters of the model that a caller may name. `name*` allows all names with that prefix. */
	loras?: readonly string[];
	/** How the engine gets adapters of accounts. Absent: it gets none. */
	adapters?: AdapterSettings;
	/** The resolved secret. It never reaches an error, a log or a reply. */
	key?: string;
	headers: Readonly<Record<string, string>>;
	timeouts: Readonly<Timeouts>;
	/** `anywhere`: the chat template accepts system messages in the middle of a conversation. Absent: kind and host decide. */
	systemMessages?: "first" | "anywhere";
	/** Fields that the pool adds to the body of a request for text, if the API is OpenAI's. */
	requestFields?: Readonly<Record<string, unknown>>;
	/** Which of OpenAI's APIs for chats is called. Absent: `auto`. */
	api?: "auto" | "chat" | "responses";
	/** Context length that Ollama allocates, in tokens. */
	numCtx?: number;
	/** Observations of earlier calls of the backend; all its targets share them. Absent: there are none. */
	observed?: {
		refusesBase64?: boolean;
		refusesImageStreams?: boolean;
		/** The most detailed formats of transcripts that the last model refused. */
		refusedTranscriptFormats?: { model: string; count: number };
		/** Models whose chat completions refuse function tools. */
		chatRefusesTools?: Set<string>;
		/** Models that take tool calls of a conversation only if the request has tools. */
		refusesCallsWithoutTools?: Set<string>;
		/** Of these models, those that do not take `tool_choice: "none"`. */
		refusesNoToolChoice?: Set<string>;
		/** Models that give this key no summaries of their reasoning. */
		refusesSummaries?: Set<string>;
		/** Models for which it has no decisions of its own. */
		withoutDecisions?: Set<string>;
	};
	/** Called instead of an address. */
	binding?: AiBinding;
}

/** The part of the runtime's `Ai` that is used. With `returnRawResponse` it returns the response unchanged, errors included. */
export interface AiBinding {
	run(model: string, inputs: Record<string, unknown>, options: Record<string, unknown>): Promise<Response>;
}

/** A backend's access to the outside: network, clock, randomness, background work. */
export interface BackendServices {
	fetch: typeof fetch;
	/** Epoch milliseconds. */
	now(): number;
	uuid(): string;
	/** Lets the work finish after the request has ended or its caller has disconnected. */
	waitUntil(promise: Promise<unknown>): void;
	startTimer: StartTimer;
	/** A LoRA adapter of the account, by its id or name. Absent: accounts have none. */
	findAdapter?(account: string, name: string): Promise<AccountAdapter | undefined>;
}

export interface CallContext {
	/** The model of the catalogue that the caller named. */
	model: Model;
	/** Aborts when the caller disconnects. */
	signal: AbortSignal;
	/** Set: the upstream's own stream of OpenAI chunks, if it has one, goes to the caller unchanged. */
	streamEnd?: StreamEndFormatter;
	/** Milliseconds of a stream that are read together. Absent: each chunk is read at once, unless many arrive. */
	coalesceMs?: number;
	/** The replica that processes the prompt. Absent: the target does. */
	prefill?: PrefillLeg;
	/** Absent: accounts have no adapters. */
	adapters?: RequestAdapters;
	/** Loads the seals of the caller's account for this call's target. Absent: signed reasoning is not carried. */
	seals?(): Promise<Seals>;
	/** Counts bytes of a reply that is read whole, before they are read. Throws if the process may hold no more. */
	holdReply?(bytes: number): void;
	/** The backend writes into it what it did with the request. */
	report?: CallReport;
}

/** What became of the parts of one request. */
export interface CallReport {
	/** Parts that the target does not receive, for `x-ganglion-dropped`: printable ASCII without commas. */
	dropped: string[];
	/** The target received the caller's original request, so the parts that its dialect dropped are not lost. */
	verbatim?: true;
}

/** The replica that processes the prompt for a target. The backend calls it, and reports its outcome once. */
export interface PrefillLeg {
	readonly target: Target;
	readonly disaggregation: Disaggregation;
	/** `usage`: what its engine counted, if it did. */
	succeed(usage: Usage | undefined): void;
	fail(failure: AiError): void;
	/** Its reply has no handle, so the target processes the prompt itself. */
	countMissingHandle(): void;
	/** The caller has disconnected, or the target has failed: the call shows nothing about the replica's health. */
	cancel(): void;
}

export type BackendTasks = {
	[Name in TaskName]?: (input: TaskInput<Name>, context: CallContext) => Promise<Answer<Name>>;
};

/**
 * A kind of backend: the tasks of one address. A call makes one request of the engine. It throws an `AiError`; it does not retry, meter or
 * log.
 *
 * @example
 * ```ts
 * // test/extending/lingua.ts
 * const Reply = z.looseObject({ language: z.string(), confidence: z.number() });
 *
 * export const lingua: Backend = (target, services) => {
 * 	const tasks = {
 * 		async "language-detection"({ text }: DetectLanguageInput, context: CallContext) {
 * 			const reply = await postJson({ ...context, target, services }, "/detect", { text }, Reply);
 * 			return { kind: "value", output: { language: reply.language, score: reply.confidence } };
 * 		},
 * 	};
 * 	return tasks as object;
 * };
 * ```
 */
export type Backend = (target: Target, services: BackendServices) => BackendTasks;
