/**
 * Runs a response in the background, as an item of the durable queue.
 *
 * A process that is killed leaves the item in the queue, and it runs again. Each run has a request id of its own, which is stored before
 * the run starts. The next run settles the id of an interrupted run as failed, without a cost: so the account pays for one run. If the
 * account has already paid for the interrupted run, its answer is lost, and the response fails. A run is admitted by the account's
 * object, not from a lease, so that the account knows its id.
 */
import { NOTHING_USED } from "../accounts/admission.ts";
import type { Accounts } from "../accounts/client/ledgers-services.ts";
import { toAiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import { responsesError } from "../dialects/responses/errors.ts";
import { concat } from "../media/bytes.ts";
import { decodeUtf8 } from "../media/utf8.ts";
import type { WorkHandler, WorkRun } from "../storage/queue/work.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import type { BackgroundRequest } from "./background-request.ts";
import { EventRelay } from "./event-relay.ts";
import { sequenceOf } from "./event-text.ts";
import { foundOrThrow, referenceFailure } from "./failures.ts";
import { engineInput } from "./input.ts";
import type { EventBatch, StartedRun } from "./records.ts";
import { identified, type ResponseIdentity, type ResponseJson, recordOf } from "./response-object.ts";
import { storedFields } from "./run-stored.ts";
import type { ResponsesServices } from "./services.ts";

/** A response whose runs were interrupted so often fails. */
const MAX_RUNS = 3;
/** Longer than any answer of an engine. */
const RUN_TIMEOUT_MS = 60 * 60_000;
/** Of the account's last requests, which are searched for an interrupted run. */
const SEARCHED_REQUESTS = 100;

interface BackgroundRunCall {
	/** The request id. */
	id: string;
	request: BackgroundRequest;
	/** With the whole input. */
	fields: Record<string, unknown> & { model: string };
	signal: AbortSignal;
}

/** Runs a request like the route of Responses with these ledgers, without storing its response. */
export type RunRequest = (
	call: BackgroundRunCall,
	services: Pick<ResponsesServices, "ledgers">,
) => Promise<Response>;

export const backgroundHandler = (services: ResponsesServices, runRequest: RunRequest): WorkHandler => ({
	maxAttempts: MAX_RUNS,
	timeoutMs: RUN_TIMEOUT_MS,
	async run(work) {
		const ticket = services.uuid();
		const started = await services.storedResponses.begin(work.account, work.key, ticket);
		if (started) await new BackgroundRun(work, { started, ticket, services }).run(runRequest);
	},
	async failed(work, error) {
		const ticket = services.uuid();
		const started = await services.storedResponses.begin(work.account, work.key, ticket);
		if (started) await new BackgroundRun(work, { started, ticket, services }).fail("server_error", error);
	},
});

interface RunContext {
	started: StartedRun;
	ticket: string;
	services: ResponsesServices;
}

class BackgroundRun {
	readonly #work: WorkRun;
	readonly #context: RunContext;
	readonly #request: BackgroundRequest;
	readonly #identity: ResponseIdentity;
	/** The response object, without an answer. */
	readonly #response: ResponseJson;

	constructor(work: WorkRun, context: RunContext) {
		this.#work = work;
		this.#context = context;
		const { createdAt, json, owner, request } = context.started;
		this.#request = JSON.parse(request) as BackgroundRequest;
		this.#response = { ...JSON.parse(json), output: [] };
		const { conversation, previous_response_id: previous } = this.#response;
		this.#identity = {
			...{ id: work.key, owner, createdAt, background: true, includesSeals: this.#request.includesSeals },
			previous: typeof previous === "string" ? previous : undefined,
			conversation: isRecord(conversation) ? String(conversation.id) : undefined,
		};
	}

	async run(runRequest: RunRequest): Promise<void> {
		const { services, started, ticket } = this.#context;
		const { account, key, signal } = this.#work;
		const { interrupted } = started;
		if (interrupted !== undefined && (await this.#isPaid(interrupted)))
			return this.fail("server_error", "The gateway stopped after the answer, before it was stored.");
		if (started.attempt > MAX_RUNS)
			return this.fail("server_error", `The gateway stopped during ${MAX_RUNS} runs of the response.`);
		const unwanted = new AbortController();
		const stop = AbortSignal.any([signal, unwanted.signal]);
		const abort = () => unwanted.abort();
		void services.storedResponses
			.callRuns(account, (runs) => runs.ended(key, ticket))
			// The next events tell whether the response is still wanted.
			.then(abort, () => {});
		try {
			const response = await runRequest(
				{ id: ticket, request: this.#request, fields: this.#fields(), signal: stop },
				{ ledgers: withoutLeases(services.ledgers) },
			);
			await this.#store(response, abort);
		} catch (thrown) {
			if (stop.aborted) return;
			const error = toAiError(thrown);
			services.log(error, ticket);
			const { code, message } = responsesError(error, ticket);
			await this.fail(code, message);
		}
	}

	/** Whether the account has paid for an interrupted run. Otherwise it is settled without a cost. */
	async #isPaid(ticket: string): Promise<boolean> {
		const ledger = this.#context.services.ledgers.of(this.#work.account);
		ledger.settle({ ...NOTHING_USED, ticket, outcome: "failed", latencyMs: 0 });
		const { requests } = await ledger.requests({ limit: SEARCHED_REQUESTS });
		return requests.some((request) => request.ticket === ticket && request.outcome === "ok");
	}

	#fields(): BackgroundRunCall["fields"] {
		const { before, own } = this.#context.started;
		const items = [...foundOrThrow(before, referenceFailure), ...foundOrThrow(own, referenceFailure)];
		const input = engineInput(undefined, { before: items, items: new Map() });
		return { ...storedFields(this.#request.fields), model: this.#request.fields.model, input };
	}

	async #store(response: Response, abort: () => void): Promise<void> {
		if (!response.ok) {
			const body: unknown = await response.json().catch(() => undefined);
			const error = isRecord(body) && isRecord(body.error) ? body.error : {};
			return this.fail(String(error.code ?? "server_error"), String(error.message ?? "The request failed."));
		}
		if (response.headers.get("content-type")?.startsWith("text/event-stream") && response.body)
			return this.#relay(response.body, abort);
		const value: unknown = await response.json();
		const { now } = this.#context.services;
		await this.#finish(identified(isRecord(value) ? value : {}, this.#identity, now()));
	}

	/** Stores events while they arrive. Events that arrive during a call of the object are in the next call. */
	async #relay(body: ReadableStream<Uint8Array>, abort: () => void): Promise<void> {
		const { services, started, ticket } = this.#context;
		const { account, key } = this.#work;
		let end: ResponseJson | undefined;
		const relay = new EventRelay(PulledStream.sourceOf(body), {
			...{ identity: this.#identity, requestId: ticket, firstSequence: started.firstSequence },
			now: services.now,
			save: async (response) => {
				end = response;
			},
			failed: () => {},
			left: () => {},
		});
		let waiting: Uint8Array[] = [];
		let sending: Promise<void> | undefined;
		let isWanted = true;
		let failure: unknown;
		const send = async (): Promise<void> => {
			while (waiting.length > 0 && !end && isWanted) {
				const batch = batchOf(waiting);
				waiting = [];
				isWanted = await services.storedResponses.append(account, key, { ticket, batch });
			}
			sending = undefined;
		};
		for (let chunk = await relay.pull(); chunk && isWanted && !failure; chunk = await relay.pull()) {
			waiting.push(chunk);
			if (!end)
				sending ??= send().catch((thrown) => {
					failure = thrown;
					return relay.cancel(undefined);
				});
		}
		await sending;
		if (failure !== undefined) throw failure;
		if (!isWanted || !end) {
			abort();
			return relay.cancel(undefined);
		}
		await this.#finish(end, waiting.length > 0 ? batchOf(waiting) : undefined);
	}

	/** Ends the response with an error. */
	async fail(code: string, message: string): Promise<void> {
		const { now } = this.#context.services;
		const failed = { ...this.#response, status: "failed", error: { code, message } };
		await this.#finish(identified(failed, this.#identity, now()));
	}

	async #finish(response: ResponseJson, last?: EventBatch): Promise<void> {
		const { services, ticket } = this.#context;
		const { uuid, storedResponses } = services;
		const record = recordOf(response, this.#identity, { input: [], uuid });
		const { account } = this.#work;
		const saved = await storedResponses.callRuns(account, (runs) =>
			runs.finish(record, { ticket, last }, storedResponses.bounds),
		);
		storedResponses.requireSaved(account, saved);
	}
}

function batchOf(parts: readonly Uint8Array[]): EventBatch {
	const content = concat(parts);
	const first = sequenceOf(content) ?? 0;
	const all = decodeUtf8(content).matchAll(/"sequence_number" *: *(\d+)/g);
	const last = [...all].reduce((highest, [, number]) => Math.max(highest, Number(number)), first);
	return { first, last, content };
}

/** The account's object admits each request. */
const withoutLeases = (ledgers: Accounts): Accounts => ({
	of(account) {
		const ledger = ledgers.of(account);
		return new Proxy(ledger, {
			get(target, name) {
				if (name === "admitFromLease") return () => undefined;
				const member: unknown = Reflect.get(target, name, target);
				return typeof member === "function" ? member.bind(target) : member;
			},
		});
	},
});
