/** The jobs of an instance: each one indexes all items again, and ends with the last of them. */
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

	/** `undefined`: the last one is younger than `cooldownMs`. */
	start(job: SearchJob, items: readonly string[], cooldownMs: number): SearchJob | undefined {
		const now = job.startedAt;
		const [last] = this.#logs.jobs(1, 0).values;
		if (last && now - last.startedAt < cooldownMs) return undefined;
		if (last && last.endedAt === undefined) this.#end(last, now, "new_job_has_started");
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
		if (found.isLast) this.#end(job, now);
		else this.#logs.putJob({ ...job, seenAt: now });
	}

	/** The items of the job are indexed nevertheless. `undefined`: there is none. `false`: it has ended. */
	cancel(id: string, now: number): SearchJob | false | undefined {
		const job = this.#logs.job(id);
		if (!job) return undefined;
		return job.endedAt === undefined && this.#end(job, now, "cancelled_by_user");
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
