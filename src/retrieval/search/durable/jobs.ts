/**
 * The jobs of an instance: each one reads the source and indexes what has changed; without a source it indexes all items again. It ends with
 * the last of its items.
 */
import type { ItemLog, SearchJob } from "../records.ts";
import type { ItemTable } from "./item-table.ts";
import type { LogTable } from "./log-table.ts";

export class Jobs {
	readonly #items: ItemTable;
	readonly #logs: LogTable;

	constructor(items: ItemTable, logs: LogTable) {
		this.#items = items;
		this.#logs = logs;
	}

	/** The job whose source is being read. */
	get reading(): SearchJob | undefined {
		const [last] = this.#logs.jobs(1, 0).values;
		return last?.isReading && last.endedAt === undefined ? last : undefined;
	}

	/** When the next scheduled job starts. */
	nextStart(intervalMs: number): number {
		return (this.#logs.jobs(1, 0).values[0]?.startedAt ?? 0) + intervalMs;
	}

	/** Its source will be read. `undefined`: the last one is younger than `cooldownMs`. */
	startReading(job: SearchJob, cooldownMs: number): SearchJob | undefined {
		if (!this.#replaceLast(job.startedAt, cooldownMs)) return undefined;
		const reading = { ...job, isReading: true };
		this.#logs.putJob(reading);
		this.#log(job.id, "The source is being read", job.startedAt);
		// The source may say that they have not changed.
		for (const id of this.#items.cancelled()) this.#items.requeue(id, { job: job.id, now: job.startedAt });
		return reading;
	}

	/** The job goes on. */
	note(id: string, { error, now }: { now: number; error?: string }): void {
		const job = this.#logs.job(id);
		if (!job) return;
		this.#logs.putJob({ ...job, seenAt: now });
		if (error !== undefined) this.#log(id, error, now, 1);
	}

	/** The job ends now, or with the last of its items. With a reason, it has failed. */
	endReading(id: string, now: number, reason?: string): void {
		const job = this.#logs.job(id);
		if (!job || job.endedAt !== undefined) return;
		const { isReading: _, ...read } = job;
		this.#log(
			id,
			reason === undefined ? "The source is read" : `The source could not be read: ${reason}`,
			now,
		);
		if (reason !== undefined || !this.#items.hasOpen(id)) this.#end(read, now, reason);
		else this.#logs.putJob({ ...read, seenAt: now });
	}

	/** `undefined`: the last one is younger than `cooldownMs`. */
	start(job: SearchJob, items: readonly string[], cooldownMs: number): SearchJob | undefined {
		const now = job.startedAt;
		if (!this.#replaceLast(now, cooldownMs)) return undefined;
		this.#logs.putJob(job);
		this.#log(job.id, `Items of the job: ${items.length}`, now);
		for (const id of items) this.#items.requeue(id, { job: job.id, now });
		return items.length > 0 ? job : this.#end(job, now);
	}

	/** A run of an item has ended. */
	itemEnded(item: string, { errorType, message }: ItemLog, now: number): void {
		const found = this.#items.jobOf(item);
		const job = found && this.#logs.job(found.job);
		if (!job || job.endedAt !== undefined) return;
		this.#log(job.id, `${this.#items.get(item)?.key}: ${message}`, now, errorType === undefined ? 0 : 1);
		if (found.isLast && !job.isReading) this.#end(job, now);
		else this.#logs.putJob({ ...job, seenAt: now });
	}

	/** An item that has begun is indexed. `undefined`: there is no such job. `false`: it has ended. */
	cancel(id: string, now: number): SearchJob | false | undefined {
		const job = this.#logs.job(id);
		if (!job) return undefined;
		if (job.endedAt !== undefined) return false;
		this.#log(id, `Items that are not indexed: ${this.#items.cancel(id, now)}`, now);
		return this.#end(job, now, "cancelled_by_user");
	}

	/** Ends the last job. Returns whether another one may start. */
	#replaceLast(now: number, cooldownMs: number): boolean {
		const [last] = this.#logs.jobs(1, 0).values;
		if (last && now - last.startedAt < cooldownMs) return false;
		if (last && last.endedAt === undefined) this.#end(last, now, "new_job_has_started");
		return true;
	}

	#end(job: SearchJob, now: number, reason?: string): SearchJob {
		const ended = { ...job, endedAt: now, seenAt: now, ...(reason !== undefined && { endReason: reason }) };
		this.#logs.putJob(ended);
		this.#log(job.id, `The job has ended${reason === undefined ? "" : `: ${reason}`}`, now);
		return ended;
	}

	#log(job: string, message: string, createdAt: number, type = 0): void {
		this.#logs.addJobLog(job, { message, type, createdAt });
	}
}
