/** The `JobStore` object: the files, batches and adapters of one account. The bytes of files are stored objects (`src/storage/blobs`). */
import { DurableObject } from "cloudflare:workers";
import { eraseObject } from "../../core/erase-object.ts";
import type { Storage } from "../../storage/storage.ts";
import { deleteAdapterBytes, type EngineFolders } from "../adapters/engine-folders.ts";
import { batchItem } from "../batches/batch-item.ts";
import { fileKey, type JobUsage, ownInputKey } from "../records.ts";
import { BatchRuns } from "./batch-runs.ts";
import { JobTables } from "./job-tables.ts";
import { StoredAdapters } from "./stored-adapters.ts";
import { StoredBatches } from "./stored-batches.ts";
import { StoredFiles } from "./stored-files.ts";

/** After a call of the storage that failed. */
const TRY_AGAIN_MS = 60_000;

export abstract class JobStoreObject extends DurableObject {
	readonly #tables: JobTables;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#tables = new JobTables(ctx.storage);
	}

	/** The Worker's class has it (`index.ts`). */
	protected abstract storage(): Storage;
	protected abstract engineFolders(): Pick<EngineFolders, "delete">;

	files(): StoredFiles {
		return new StoredFiles(this.#tables);
	}

	adapters(): StoredAdapters {
		return new StoredAdapters(this.#tables);
	}

	batches(): StoredBatches {
		return new StoredBatches(this.#tables);
	}

	runs(): BatchRuns {
		return new BatchRuns(this.#tables);
	}

	usage(): JobUsage {
		return this.#tables.usage();
	}

	/** Deletes everything but the bytes of files. Returns the number of rows. */
	erase(): Promise<number> {
		return eraseObject(this.ctx, { constant: ["line_counts", "discarded_lines"] });
	}

	/** Deletes what has expired or was removed, and puts batches into the queue that are not there. */
	override async alarm(): Promise<void> {
		const { account } = this.#tables;
		if (account === undefined) return;
		try {
			await this.#deleteExpired(account);
			const open = this.#tables.batches.open();
			await this.storage().queue.enqueue(open.map(({ id }) => batchItem(account, id)));
			// At the end: a folder may refuse for a long time.
			await this.#deleteAdapters(account);
		} catch {
			// The storage, the queue or a folder of adapters is full or unreachable.
			return this.#tables.scheduleAt(Date.now() + TRY_AGAIN_MS);
		}
		await this.#tables.schedule();
	}

	async #deleteAdapters(account: string): Promise<void> {
		const { adapters } = this.#tables;
		const services = { engineFolders: this.engineFolders(), storage: this.storage() };
		for (const id of adapters.deleted()) {
			await deleteAdapterBytes(account, id, services);
			adapters.forget(id);
		}
	}

	/** A row dies after its bytes, so that none remain. */
	async #deleteExpired(account: string): Promise<void> {
		const { batches, files } = this.#tables;
		const now = Date.now();
		const blobs = this.storage().blobs(account);
		const expired = files.expired(now).filter((id) => !this.#tables.isInput(id));
		await blobs.delete(expired.map(fileKey));
		for (const id of expired) files.delete(id, now);
		for (const batch of batches.expired(now)) {
			const { id, outputFile } = batch;
			// Files of OpenAI's results have an expiry of their own.
			await blobs.delete([ownInputKey(id), ...(batch.api === "openai" ? [] : [fileKey(outputFile ?? "")])]);
			batches.delete(id, now);
		}
	}
}
