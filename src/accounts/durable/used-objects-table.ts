/** The classes of objects that an account uses: `src/accounts/used-objects.ts`. */
import { REPORTED_OBJECTS, type ReportedObject } from "../used-objects.ts";
import { type AccountRows, type AccountStorage, RowTable } from "./row-table.ts";

export const USED_OBJECTS = "used_objects";

/** One row for each class. It dies with the account's data. */
export class UsedObjectsTable {
	readonly #table: RowTable<{ binding: ReportedObject }>;

	constructor(rows: AccountRows) {
		const columns = { binding: "TEXT" };
		this.#table = new RowTable<{ binding: ReportedObject }>({
			...{ rows, columns },
			name: USED_OBJECTS,
			key: ["binding"],
		});
	}

	all(): ReportedObject[] {
		return this.#table.select().map(({ binding }) => binding);
	}

	/** Returns all of them. */
	add(binding: ReportedObject): ReportedObject[] {
		const used = this.all();
		if (used.includes(binding)) return used;
		this.#table.insertAll(JSON.stringify([[binding]]));
		return [...used, binding];
	}
}

/** Accounts of an earlier version, which recorded nothing: each may use all classes. `accounts`: their numbers. */
export function assumeAll(
	{ transactionSync, ...rows }: Omit<AccountStorage, "account">,
	accounts: readonly number[],
): void {
	if (accounts.length === 0) return;
	transactionSync(() => {
		for (const account of accounts) {
			const table = new UsedObjectsTable({ ...rows, account });
			for (const binding of REPORTED_OBJECTS) table.add(binding);
		}
	});
}
