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

	/** After an upload. Returns false if the data of the account were deleted meanwhile. */
	async complete(file: FileRecord): Promise<boolean> {
		if (this.#tables.account === undefined) return false;
		this.#tables.files.put(file);
		await this.#tables.schedule();
		return true;
	}

	get(id: string, scope: Scope): FoundJob<FileRecord> {
		return this.#tables.files.find(id, scope, Date.now());
	}

	list(query: FilesQuery, scope: Scope): FilesPage | undefined {
		return this.#tables.files.page(query, scope, Date.now());
	}

	/**
	 * Hides it from requests. The alarm deletes its bytes, unless the caller deletes them and calls `forget`. Returns false if a batch that
	 * has not ended reads it.
	 */
	async hide(id: string): Promise<boolean> {
		if (this.#tables.inputs().includes(id)) return false;
		this.#tables.files.hide(id, Date.now());
		await this.#tables.schedule();
		return true;
	}

	/** The bytes of a hidden file are gone. */
	forget(id: string): void {
		this.#tables.forgetFile(id);
	}
}
