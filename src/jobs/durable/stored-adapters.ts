/** The adapters of an account. A part of the `JobStore` object. */
import { RpcTarget } from "cloudflare:workers";
import {
	type AdapterBounds,
	type AdapterFile,
	type AdapterRecord,
	CONFIG_FILE,
	type CreatedAdapter,
	isComplete,
	type NewAdapter,
	type StoredAdapterFile,
	WEIGHTS_FILE,
} from "../adapters/records.ts";
import type { JobTables } from "./job-tables.ts";

export class StoredAdapters extends RpcTarget {
	readonly #tables: JobTables;

	constructor(tables: JobTables) {
		super();
		this.#tables = tables;
	}

	/** An adapter of the same name and model that lacks files is the one that is created: its client has stopped between the files. */
	create(account: string, adapter: NewAdapter, { maxAdapters }: AdapterBounds): CreatedAdapter {
		const { adapters } = this.#tables;
		const existing = adapters.byName(adapter.name);
		if (existing && existing.model === adapter.model && !isComplete(existing))
			return { ok: true, adapter: existing };
		if (existing) return { ok: false, reason: "exists", existing: existing.id };
		if (adapters.usage().adapters >= maxAdapters) return { ok: false, reason: "full" };
		this.#tables.setAccount(account);
		adapters.add(adapter);
		return { ok: true, adapter: { ...adapter, modifiedAt: adapter.createdAt, files: [] } };
	}

	list(): AdapterRecord[] {
		return this.#tables.adapters.list();
	}

	/** Also of adapters that were deleted, and whose bytes may exist. */
	ids(): string[] {
		const { adapters } = this.#tables;
		return [...adapters.list().map(({ id }) => id), ...adapters.deleted()];
	}

	/** By id or by name. */
	find(idOrName: string): AdapterRecord | undefined {
		const { adapters } = this.#tables;
		return adapters.byId(idOrName) ?? adapters.byName(idOrName);
	}

	/** After the bytes of a file are stored. Files of a complete adapter do not change. */
	async setFile(id: string, file: AdapterFile): Promise<StoredAdapterFile> {
		const { adapters } = this.#tables;
		const adapter = adapters.byId(id);
		if (!adapter) {
			// It was deleted meanwhile, and perhaps before the bytes of this file were stored.
			await this.hide(id);
			return { ok: false, reason: "missing" };
		}
		if (isComplete(adapter)) return { ok: false, reason: "complete" };
		const others = adapter.files.filter(({ name }) => name !== file.name);
		const ranks = new Map([...others, file].map(({ name, rank }) => [name, rank]));
		const [declared, found] = [ranks.get(CONFIG_FILE), ranks.get(WEIGHTS_FILE)];
		if (declared !== undefined && found !== undefined && found > declared)
			return { ok: false, reason: "rank", declared, found };
		const replaced = adapter.files.find(({ name }) => name === file.name)?.key;
		const now = Date.now();
		adapters.setFile(id, file, now);
		return {
			ok: true,
			adapter: { ...adapter, modifiedAt: now, files: [...others, file] },
			...(replaced !== undefined && { replaced }),
		};
	}

	/** Hides it from requests. The alarm deletes its bytes, unless the caller deletes them and calls `forget`. */
	async hide(id: string): Promise<void> {
		// The data of the account were deleted, and an alarm would not know whose the bytes are.
		if (this.#tables.account === undefined) return;
		this.#tables.adapters.hide(id);
		await this.#tables.schedule();
	}

	/** The bytes of a hidden adapter are gone. */
	forget(id: string): void {
		this.#tables.forgetAdapter(id);
	}
}
