/** The `JobStore` object: the files, batches and adapters of one account. The bytes of files are stored objects (`src/storage/blobs`). */
import { DurableObject } from "cloudflare:workers";
import { deleteEach, deleteTogether } from "../../core/deletions.ts";
import { eraseObject } from "../../core/erase-object.ts";
import { type AiError, toAiError } from "../../core/errors.ts";
import type { Storage } from "../../storage/storage.ts";
import { deleteAdapterBytes, type EngineFolders } from "../adapters/engine-folders.ts";
import { batchItem } from "../batches/batch-item.ts";
import { fileKey, type JobUsage, ownInputKey } from "../records.ts";
import { BatchRuns } from "./batch-runs.ts";
import { JobTables } from "./job-tables.ts";
import { StoredAdapters } from "./stored-adapters.ts";
import { StoredBatches } from "./stored-batches.ts";
import { StoredFiles } from "./stored-files.ts";

/** After a call of the queue that failed. */
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
	protected abstract log(error: AiError): void;

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

	/** Deletes what has expired or is hidden, and puts batches into the queue that are not there. */
	override async alarm(): Promise<void> {
		const tables = this.#tables;
		const { account } = tables;
		if (account === undefined) return;
		const now = Date.now();
		await this.#deleteExpired(account, now);
		try {
			await this.storage().queue.enqueue(tables.batches.open().map(({ id }) => batchItem(account, id)));
		} catch (error) {
			// The queue is full or unreachable.
			this.log(toAiError(error));
			await tables.scheduleAt(Date.now() + TRY_AGAIN_MS);
		}
		// At the end: a folder may refuse for a long time.
		const services = { engineFolders: this.engineFolders(), storage: this.storage() };
		for (const id of tables.deletableAdapters(now))
			await deleteEach(
				[{ id }],
				async () => {
					await deleteAdapterBytes(account, id, services);
					tables.forgetAdapter(id);
				},
				this.#onFailure(),
			);
		tables.failedDeletions.deleteForgotten();
		await tables.schedule();
	}

	/** A row dies after its bytes, so that none remain. */
	async #deleteExpired(account: string, now: number): Promise<void> {
		const tables = this.#tables;
		const blobs = this.storage().blobs(account);
		const files = tables.files.expired(now, tables.inputs()).map((id) => ({ id }));
		const deleteFiles = async (some: readonly { id: string }[]): Promise<void> => {
			await blobs.delete(some.map(({ id }) => fileKey(id)));
			for (const { id } of some) tables.forgetFile(id);
		};
		await deleteTogether(files, deleteFiles, this.#onFailure());
		await deleteEach(
			tables.batches.expired(now),
			async ({ api, id, outputFile = "" }) => {
				// Files of OpenAI's results have an expiry of their own.
				await blobs.delete([ownInputKey(id), ...(api === "openai" ? [] : [fileKey(outputFile)])]);
				tables.forgetBatch(id);
			},
			this.#onFailure(),
		);
	}

	/** An item whose deletion has failed waits. Each kind of failure is logged once. */
	#onFailure(): (item: { id: string }, thrown: unknown) => void {
		const logged = new Set<string>();
		return ({ id }, thrown) => {
			const error = toAiError(thrown);
			if (!logged.has(error.key)) this.log(error);
			logged.add(error.key);
			this.#tables.failedDeletions.add(id, Date.now());
		};
	}
}
