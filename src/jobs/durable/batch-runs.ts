/**
 * The runs of the batches of an account. A part of the `JobStore` object.
 *
 * A run has a fence of the durable queue. A later run takes the batch over, and the calls of an earlier one have no effect then. The result
 * of a line, its bills and the counts of its batch are one commit.
 */
import { RpcTarget } from "cloudflare:workers";
import { AiError } from "../../core/errors.ts";
import { timeOrderedUuid } from "../../core/time-ordered-uuid.ts";
import {
	addUsage,
	type BatchMistake,
	type BatchRecord,
	type BatchWait,
	type ExchangedLines,
	hasEnded,
	type LineEnd,
	type LineExchange,
	type NewLine,
	type ResultFiles,
	type ResultRoom,
	type ResultsPart,
	type StartedBatch,
	type UnfinishedPart,
} from "../batches/records.ts";
import type { JobTables } from "./job-tables.ts";

/** Of the lines that one call claims. */
const MAX_CLAIMED_BYTES = 4_000_000;
/** There may be room for results after this time. */
const FULL_MS = 30_000;

/** Which run calls. */
export interface RunKey {
	batch: string;
	fence: number;
}

/** Results of calls: `undefined` if a later run has the batch. */
export class BatchRuns extends RpcTarget {
	readonly #tables: JobTables;

	constructor(tables: JobTables) {
		super();
		this.#tables = tables;
	}

	/** Starts a run. `undefined`: the batch has ended. Lines of a run whose process has ended wait again. */
	begin({ batch, fence }: RunKey): StartedBatch | undefined {
		const { batches, bills, lines } = this.#tables;
		const found = batches.get(batch);
		if (!found || hasEnded(found)) return undefined;
		const request = batches.take(batch, fence);
		if (!request) return undefined;
		const { lines: repeated, tickets } = lines.restart(batch);
		bills.addInterrupted(batch, tickets);
		bills.count({ repeated });
		return { record: found, request, settlements: bills.of(batch) };
	}

	/** Before a validation: forgets the lines of an earlier one. */
	clear(run: RunKey): boolean {
		if (!this.#tables.batches.ofRun(run.batch, run.fence)) return false;
		this.#tables.lines.delete(run.batch);
		return true;
	}

	/** Adds lines of a valid file. Returns those whose id another line has. */
	add(run: RunKey, lines: readonly NewLine[]): number[] | undefined {
		if (!this.#tables.batches.ofRun(run.batch, run.fence)) return undefined;
		return this.#tables.lines.add(run.batch, lines);
	}

	/** The file is valid, or has mistakes. */
	async validated(
		run: RunKey,
		{ mistakes, total, model }: { mistakes: BatchMistake[]; total: number; model: string | undefined },
	): Promise<BatchRecord | undefined> {
		const record = this.#tables.batches.ofRun(run.batch, run.fence);
		if (record?.status !== "validating") return record;
		const now = Date.now();
		const known = { ...record, ...(model !== undefined && { model }) };
		if (mistakes.length === 0)
			return this.#write({ ...known, total, status: "in_progress", inProgressAt: now });
		this.#tables.lines.delete(run.batch);
		return this.#end({ ...known, mistakes, status: "failed", endedAt: now });
	}

	/** Stores the ends of runs, and starts further lines. */
	exchange(
		run: RunKey,
		{ ended, delivered, claim, room, waiting }: LineExchange,
	): ExchangedLines | undefined {
		const { batches, bills, lines } = this.#tables;
		const found = batches.ofRun(run.batch, run.fence);
		if (!found) return undefined;
		bills.delete(delivered);
		const { waiting: before, ...record } = ended.reduce((batch, end) => this.#ended(batch, end), found);
		const finished = record.succeeded + record.failed - found.succeeded - found.failed;
		if (finished > 0) bills.count({ finished });
		const now = Date.now();
		const isStopping = record.status !== "in_progress" || now >= record.expiresAt;
		const full = claim > 0 ? this.#full(room, now) : undefined;
		const waits = full ?? (waiting === undefined ? before : (waiting ?? undefined));
		const next = { ...record, ...(waits && !isStopping && { waiting: waits }) };
		if (ended.length > 0 || JSON.stringify(before) !== JSON.stringify(next.waiting)) batches.write(next);
		if (isStopping || claim === 0) return { lines: [], isStopping };
		if (full) return { lines: [], isStopping, nextAt: full.until };
		const ticket = (): string => timeOrderedUuid(now, crypto.randomUUID());
		const claimed = lines.claim(run.batch, { count: claim, maxBytes: MAX_CLAIMED_BYTES, now, ticket });
		const nextAt = claimed.length === 0 ? lines.nextStart(run.batch) : undefined;
		return { lines: claimed, isStopping, ...(nextAt !== undefined && { nextAt }) };
	}

	/** Why no line may start: there is no room for its result. */
	#full({ isDiskFull, maxBytes }: ResultRoom, now: number): BatchWait | undefined {
		if (!isDiskFull && this.#tables.bytes <= maxBytes) return undefined;
		const { code, description } = isDiskFull
			? new AiError("diskFull")
			: new AiError(
					"storageFull",
					`The results of the account's batches have more than ${maxBytes} bytes (STORAGE.account_bytes): wait for their end, or cancel some`,
				);
		return { code, message: description, until: now + FULL_MS };
	}

	#ended(record: BatchRecord, { line, ticket, settlements, outcome }: LineEnd): BatchRecord {
		const { bills, lines } = this.#tables;
		bills.add(record.id, settlements);
		if (lines.runningTickets(record.id, line)[0] !== ticket) return record;
		if (outcome.kind === "again") {
			lines.again(record.id, line, { ...outcome, now: Date.now() });
			return record;
		}
		lines.end(record.id, line, outcome);
		const usage = addUsage(record.usage, outcome.usage);
		return outcome.kind === "succeeded"
			? { ...record, usage, succeeded: record.succeeded + 1 }
			: { ...record, usage, failed: record.failed + 1 };
	}

	/** A run of a line has a further request of the account. Returns whether the run still has the line. */
	addTicket(run: RunKey, line: number, tickets: { first: string; ticket: string }): boolean {
		if (!this.#tables.batches.ofRun(run.batch, run.fence)) return false;
		return this.#tables.lines.addTicket(run.batch, line, tickets);
	}

	/** No line runs any more. `files`: ids for the results. */
	finalize(run: RunKey, files: { output: string; error: string }): BatchRecord | undefined {
		const record = this.#tables.batches.ofRun(run.batch, run.fence);
		if (!record || hasEnded(record) || record.finalizingAt !== undefined) return record;
		const { waiting: _, ...rest } = record;
		const unfinished = record.total - record.succeeded - record.failed;
		this.#tables.bills.countDiscarded(unfinished);
		return this.#write({
			...rest,
			unfinished,
			...(record.status === "in_progress" && { status: "finalizing" as const }),
			finalizingAt: Date.now(),
			outputFile: files.output,
			errorFile: files.error,
		});
	}

	results(run: RunKey, isError: boolean, from: { line: number; piece: number }): ResultsPart | undefined {
		if (!this.#tables.batches.ofRun(run.batch, run.fence)) return undefined;
		return this.#tables.lines.results(run.batch, isError, from);
	}

	unfinished(run: RunKey, after: number): UnfinishedPart | undefined {
		const record = this.#tables.batches.ofRun(run.batch, run.fence);
		if (!record) return undefined;
		const reason = record.cancellingAt === undefined ? "expired" : "cancelled";
		return { lines: this.#tables.lines.unfinished(run.batch, after), reason };
	}

	/** The files of results are stored. Absent ones have no lines. */
	async end(run: RunKey, files: ResultFiles): Promise<BatchRecord | undefined> {
		const record = this.#tables.batches.ofRun(run.batch, run.fence);
		if (!record || hasEnded(record)) return record;
		const { outputFile, errorFile, ...rest } = record;
		const has = (id: string | undefined): boolean => files.some((file) => file.id === id);
		// The results of the others belong to the batch.
		if (record.api === "openai") for (const file of files) this.#tables.files.put(file);
		this.#tables.lines.delete(run.batch);
		return this.#end({
			...rest,
			...(outputFile !== undefined && has(outputFile) && { outputFile }),
			...(errorFile !== undefined && has(errorFile) && { errorFile }),
			status:
				record.cancellingAt !== undefined ? "cancelled" : record.unfinished > 0 ? "expired" : "completed",
			endedAt: Date.now(),
		});
	}

	/** The batch, if it has ended. */
	ended(batch: string): BatchRecord | undefined {
		const record = this.#tables.batches.get(batch);
		return record && hasEnded(record) ? record : undefined;
	}

	/** The queue has given up. */
	async giveUp(run: RunKey, message: string): Promise<void> {
		const record = this.#tables.batches.get(run.batch);
		if (!record || hasEnded(record)) return;
		this.#tables.lines.delete(run.batch);
		// A batch that has finalized its lines has counted them.
		if (record.finalizingAt === undefined)
			this.#tables.bills.countDiscarded(record.total - record.succeeded - record.failed);
		const mistakes = [{ code: "server_error", message }];
		await this.#end({ ...record, mistakes, status: "failed", endedAt: Date.now() });
	}

	/** The account has these bills. */
	delivered(tickets: readonly string[]): void {
		this.#tables.bills.delete(tickets);
	}

	#write(record: BatchRecord): BatchRecord {
		this.#tables.batches.write(record);
		return record;
	}

	async #end(record: BatchRecord): Promise<BatchRecord> {
		this.#write(record);
		await this.#tables.schedule();
		return record;
	}
}
