/** The batches of an account, for the routes. A part of the `JobStore` object. */
import { RpcTarget } from "cloudflare:workers";
import type { Scope } from "../../responses/records.ts";
import {
	type BatchApi,
	type BatchesPage,
	type BatchesQuery,
	type BatchRecord,
	type BatchRequest,
	hasEnded,
	type NewLine,
} from "../batches/records.ts";
import type { FoundJob, JobBounds } from "../records.ts";
import { ENQUEUE_AFTER_MS, type JobTables } from "./job-tables.ts";

export class StoredBatches extends RpcTarget {
	readonly #tables: JobTables;

	constructor(tables: JobTables) {
		super();
		this.#tables = tables;
	}

	/** Returns whether the account may have a further batch. The caller puts it into the queue. */
	async create(
		record: BatchRecord,
		{ request, lines = [] }: { request: BatchRequest; lines?: readonly NewLine[] },
		{ maxBatches, maxReplays }: JobBounds,
	): Promise<boolean> {
		const { batches } = this.#tables;
		if (batches.open().length >= maxBatches) return false;
		if (record.api === "replay" && batches.count("replay") >= maxReplays) return false;
		this.#tables.setAccount(request.caller.account);
		batches.insert(record, request);
		this.#tables.lines.add(record.id, lines);
		// The process may end before the queue has it.
		await this.#tables.scheduleAt(Date.now() + ENQUEUE_AFTER_MS);
		return true;
	}

	get(id: string, api: BatchApi, scope: Scope): FoundJob<BatchRecord> {
		return this.#tables.batches.find(id, api, scope, Date.now());
	}

	list(query: BatchesQuery, scope: Scope): BatchesPage | undefined {
		return this.#tables.batches.page(query, scope, Date.now());
	}

	/** Lines that run may end. A batch that has ended stays as it is. */
	cancel(id: string): BatchRecord | undefined {
		const record = this.#tables.batches.get(id);
		if (!record || hasEnded(record) || record.status === "cancelling") return record;
		// Its lines have ended.
		if (record.status === "finalizing") return record;
		const { waiting: _, ...running } = record;
		const cancelling: BatchRecord = { ...running, status: "cancelling", cancellingAt: Date.now() };
		this.#tables.batches.write(cancelling);
		return cancelling;
	}

	/** Only one that has ended. Hides it from requests. The alarm deletes its bytes, unless the caller deletes them and calls `forget`. */
	async hide(id: string): Promise<void> {
		this.#tables.batches.hide(id, Date.now());
		await this.#tables.schedule();
	}

	/** Only one that has ended, or was not put into the queue. */
	forget(id: string): void {
		this.#tables.lines.delete(id);
		this.#tables.forgetBatch(id);
	}
}
