/** What an account's object stores beside its ledger and its tokens. Tables are opened by their first use, and not kept: isolates have copies. */
import type { ReportedObject } from "../used-objects.ts";
import { type AliasRow, AliasTable } from "./alias-table.ts";
import type { AccountStorage } from "./row-table.ts";
import { UsedObjectsTable } from "./used-objects-table.ts";

export abstract class AccountSettings {
	/** The account has never been used. */
	protected abstract readonly isNew: boolean;

	/** The rows of the account. Records an account without rows. */
	protected abstract storage(): AccountStorage;

	aliases(): AliasRow[] {
		return this.isNew ? [] : this.#aliases().all();
	}

	setAlias(row: AliasRow): boolean {
		return this.#aliases().set(row);
	}

	deleteAlias(alias: string): boolean {
		return !this.isNew && this.#aliases().delete(alias);
	}

	/** The classes of other objects that may have data of the account. */
	usedObjects(): ReportedObject[] {
		return this.isNew ? [] : this.#usedObjects().all();
	}

	/** Records a class before its first use. Returns all of them. */
	useObject(object: ReportedObject): ReportedObject[] {
		return this.#usedObjects().add(object);
	}

	/** Makes the tables, so that they have the columns of this version. */
	openAll(): void {
		this.#aliases();
		this.#usedObjects();
	}

	#aliases(): AliasTable {
		return new AliasTable(this.storage());
	}

	#usedObjects(): UsedObjectsTable {
		return new UsedObjectsTable(this.storage());
	}
}
