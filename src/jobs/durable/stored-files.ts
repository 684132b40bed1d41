/** The files of an account. A part of the `JobStore` object. */
import { RpcTarget } from "cloudflare:workers";
import type { Scope } from "../../responses/records.ts";
import type { FileRecord, FilesPage, FilesQuery, FoundJob, JobBounds, NewFile } from "../records.ts";
import type { JobTables } from "./job-tables.ts";

export class StoredFiles extends RpcTarget {
	readonly #tables: JobTables;

	constructor(tables: JobTables) {
		super();
		this.#tables = tables;
	}

	/** Before an upload. Returns whether the account may have a further file. */
	async begin(account: string, file: NewFile, { maxFiles }: JobBounds): Promise<boolean> {
		const { files } = this.#tables;
		if (files.usage().files >= maxFiles) return false;
		this.#tables.setAccount(account);
		files.begin(file);
		await this.#tables.schedule();
		return true;
	}

	/** After an upload. */
	async complete(file: FileRecord): Promise<void> {
		this.#tables.files.put(file);
		await this.#tables.schedule();
	}

	get(id: string, scope: Scope): FoundJob<FileRecord> {
		return this.#tables.files.find(id, scope, Date.now());
	}

	list(query: FilesQuery, scope: Scope): FilesPage | undefined {
		return this.#tables.files.page(query, scope, Date.now());
	}

	/**
	 * Nothing finds the file any more. The alarm deletes its bytes, unless the caller does that before and calls `remove`. Returns false if
	 * a batch that has not ended reads it.
	 */
	async expire(id: string): Promise<boolean> {
		if (this.#tables.isInput(id)) return false;
		this.#tables.files.expire(id, Date.now());
		await this.#tables.schedule();
		return true;
	}

	/** The caller has deleted the bytes. */
	remove(id: string): void {
		this.#tables.files.delete(id, Date.now());
	}
}
