/**
 * Runs a batch, as an item of the durable queue: validates its file, runs its lines, and stores their results.
 *
 * The result of a line and its bills are one commit of the account's `JobStore` object; then the account gets the bills, which it books
 * once for each ticket. A process that is killed leaves the batch in the queue. Then the lines that ran run again with new tickets, and
 * the old ones are settled without a cost: so each line is answered once and billed once, and the operator pays for the repeated calls.
 */
import type { Settlement } from "../../accounts/admission.ts";
import { diskSpace } from "../../core/disk-space.ts";
import { hasPassed } from "../../core/elapsed.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { WorkHandler, WorkRun } from "../../storage/queue/work.ts";
import type { RunKey } from "../durable/batch-runs.ts";
import type { JobsServices } from "../services.ts";
import { batchOf } from "./batch-item.ts";
import { Drain } from "./drain.ts";
import { announceEnd } from "./events.ts";
import { LineAdmissions } from "./line-admissions.ts";
import { LineReader } from "./line-reader.ts";
import type { BatchRecord, BatchWait, ExchangedLines, LineEnd, StartedBatch } from "./records.ts";
import { type LineContext, type RunLine, runLine } from "./run-line.ts";
import { type StoreReplay, singleLines, storeResults } from "./store-results.ts";
import { validateFile } from "./validate.ts";

/** The queue ends a run that takes longer. It is longer than a shift and any answer. */
const RUN_TIMEOUT_MS = 60 * 60_000;
/** Between two reports of the progress to the queue. */
const PROGRESS_MS = 5_000;
/** Statuses of a credential that the account refuses. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

interface BatchRunServices {
	line: RunLine;
	/** Why the model cannot answer requests of the endpoint. */
	modelMistake(model: string, endpoint: string, caller: Caller): Promise<string | undefined>;
	storeReplay: StoreReplay;
}

export const batchHandler = (services: JobsServices, run: BatchRunServices): WorkHandler => ({
	// A store that fails keeps the batch waiting. Its time bounds it.
	maxAttempts: Number.MAX_SAFE_INTEGER,
	timeoutMs: RUN_TIMEOUT_MS,
	async run(work) {
		const key = { batch: batchOf(work), fence: work.fence };
		const started = await services.jobs.runs(work.account, (runs) => runs.begin(key));
		if (started) await new BatchRun(work, { key, started, services, run }).run();
		// Also if the process ended between the end of the batch and this call.
		await announceEnd(work.account, key.batch, services);
	},
	async failed(work, error) {
		const key = { batch: batchOf(work), fence: work.fence };
		await services.jobs.runs(work.account, (runs) => runs.giveUp(key, error));
		await announceEnd(work.account, key.batch, services);
	},
});

interface RunContext {
	key: RunKey;
	started: StartedBatch;
	services: JobsServices;
	run: BatchRunServices;
}

/** Another run has the batch. */
class LostBatch extends Error {}

class BatchRun {
	readonly #work: WorkRun;
	readonly #context: RunContext;
	#record: BatchRecord;
	/** Tickets whose bills the account has. The next exchange forgets them, so that they need no commit of their own. */
	readonly #delivered: string[] = [];
	/** When the queue has heard of the progress. Epoch milliseconds. */
	#progressAt = Number.NEGATIVE_INFINITY;
	/** Of the bills of the latest exchange. Lines go on meanwhile. */
	#delivery: Promise<void> | undefined;

	constructor(work: WorkRun, context: RunContext) {
		this.#work = work;
		this.#context = context;
		this.#record = context.started.record;
	}

	async run(): Promise<void> {
		const { jobPace, wait } = this.#context.services;
		try {
			await jobPace.giveWay(wait);
			await this.#deliver(this.#context.started.settlements);
			if (this.#record.status === "validating") await this.#validate();
			if (this.#mayStartLines) await this.#drain();
			if (this.#record.status !== "failed") await this.#store();
		} catch (thrown) {
			if (!(thrown instanceof LostBatch)) throw thrown;
		} finally {
			await this.#forgetDelivered();
		}
	}

	/** A batch that was cancelled, or is too old, needs no place: its lines that ran have ended with the run before. */
	get #mayStartLines(): boolean {
		const { expiresAt, status } = this.#record;
		return status === "in_progress" && this.#context.services.now() < expiresAt;
	}

	async #validate(): Promise<void> {
		const { key, services, run } = this.#context;
		const { account } = this.#work;
		const { endpoint, inputKey } = this.#record;
		const { caller } = this.#context.started.request;
		await services.jobs.runs(account, (runs) => runs.clear(key));
		const stored = await services.storage.blobs(account).get(inputKey);
		const checked = stored
			? await validateFile(stored.body, {
					endpoint,
					limits: services.limits,
					add: async (lines) => {
						await services.jobPace.giveWay(services.wait);
						return kept(await services.jobs.runs(account, (runs) => runs.add(key, lines)));
					},
					modelMistake: (model) => run.modelMistake(model, endpoint, caller),
				})
			: {
					mistakes: [{ code: "file_not_found", message: "The input file was deleted." }],
					total: 0,
					model: undefined,
				};
		this.#record = kept(await services.jobs.runs(account, (runs) => runs.validated(key, checked)));
		this.#work.progress({ total: checked.total });
	}

	async #drain(): Promise<void> {
		const { services, started } = this.#context;
		const caller = await identifyCaller(started.request.caller, services.ledgers).catch((thrown: unknown) => {
			// A revoked token: then each line is answered with 401. The queue repeats the run after other failures.
			if (!REFUSALS.has(toAiError(thrown).status)) throw thrown;
			return started.request.caller;
		});
		const { jobPace, wait } = services;
		await jobPace.giveWay(wait);
		const context: LineContext = {
			...{ record: this.#record, caller, headers: started.request.headers, signal: this.#work.signal },
			admissions: new LineAdmissions({ wait, gatherMs: () => jobPace.gatherMs }),
			addTicket: (line, tickets) => this.#addTicket(line, tickets),
		};
		await new Drain(context, {
			services,
			runLine: (claimed, body) => runLine(claimed, body, context, { line: this.#context.run.line, services }),
			exchange: (ended, claim, waiting) => this.#exchange(ended, claim, waiting),
			reader: new LineReader(
				services.storage.blobs(this.#work.account),
				this.#record.inputKey,
				services.limits,
			),
		})
			.run()
			.finally(() => this.#delivery);
	}

	async #exchange(
		ended: readonly LineEnd[],
		claim: number,
		waiting: BatchWait | null | undefined,
	): Promise<ExchangedLines> {
		const { key, services } = this.#context;
		const { account } = this.#work;
		await this.#delivery;
		const delivered = [...this.#delivered];
		const room = { isDiskFull: diskSpace.isLow, maxBytes: services.storage.blobs(account).maxBytes };
		const exchanged = kept(
			await services.jobs.runs(account, (runs) =>
				runs.exchange(key, { ended, delivered, claim, room, ...(waiting !== undefined && { waiting }) }),
			),
		);
		this.#delivered.splice(0, delivered.length);
		this.#delivery = this.#deliver(ended.flatMap(({ settlements }) => settlements));
		// The next exchange throws it, or the end of the run.
		this.#delivery.catch(() => {});
		this.#report(ended.at(-1)?.line);
		return exchanged;
	}

	/** The queue stores it, so it hears of it rarely. */
	#report(line: number | undefined): void {
		const now = this.#context.services.now();
		if (line === undefined || !hasPassed(PROGRESS_MS, this.#progressAt, now)) return;
		this.#progressAt = now;
		this.#work.progress({ line });
	}

	/** The account books each ticket once, so a second delivery has no effect. */
	async #deliver(settlements: readonly Settlement[]): Promise<void> {
		if (settlements.length === 0) return;
		const { jobPace, wait } = this.#context.services;
		await jobPace.giveWay(wait);
		await this.#context.services.ledgers.of(this.#work.account).settleNow(settlements);
		this.#delivered.push(...settlements.map(({ ticket }) => ticket));
	}

	/** Tickets that no exchange follows. */
	async #forgetDelivered(): Promise<void> {
		const tickets = this.#delivered.splice(0);
		if (tickets.length === 0) return;
		await this.#context.services.jobs.runs(this.#work.account, (runs) => runs.delivered(tickets));
	}

	async #addTicket(line: number, tickets: { first: string; ticket: string }): Promise<void> {
		const { key, services } = this.#context;
		const has = await services.jobs.runs(this.#work.account, (runs) => runs.addTicket(key, line, tickets));
		if (!has) throw new AiError("aborted");
	}

	async #store(): Promise<void> {
		const { key, run, services } = this.#context;
		const { account } = this.#work;
		const ids = { output: services.uuid(), error: services.uuid() };
		const files = {
			output: `file-${ids.output.replaceAll("-", "")}`,
			error: `file-${ids.error.replaceAll("-", "")}`,
		};
		this.#record = kept(await services.jobs.runs(account, (runs) => runs.finalize(key, files)));
		const context = { account, key, services };
		const isReplay = this.#record.api === "replay";
		if (isReplay) await run.storeReplay(account, this.#record, singleLines(this.#record, context));
		const stored = isReplay ? [] : await storeResults(this.#record, context);
		await services.jobs.runs(account, (runs) => runs.end(key, stored));
	}
}

function kept<Value>(value: Value | undefined | false): Value {
	if (value === undefined || value === false) throw new LostBatch();
	return value;
}
