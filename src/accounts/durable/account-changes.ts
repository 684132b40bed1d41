/**
 * The changes of an object's accounts after which their leases must be checked again: of tokens, of the bound gateway, of the place.
 * Each answer to calls for several accounts names those since the answer before, so that no account is asked one by one.
 *
 * In memory: after a restart of the object, all accounts count as changed.
 */

/** A position in the changes of an object. */
export interface Revision {
	/** Another one after a restart of the object. */
	epoch: string;
	/** The number of changes. */
	changes: number;
}

export interface ChangedAccounts {
	revision: Revision;
	/** Those that have changed since the revision that the caller knows. `all`: it is unknown, or too old. */
	accounts: readonly string[] | "all";
}

/** An isolate that asks later than after so many changes checks all of its leases. */
const MAX_CHANGED = 1_000;

export class AccountChanges {
	readonly #epoch = crypto.randomUUID();
	#changes = 0;
	/** The number of the latest change of each account, the oldest first. */
	readonly #latest = new Map<string, number>();
	/** The latest change that is forgotten. */
	#forgotten = 0;

	record(account: string): void {
		this.#latest.delete(account);
		this.#latest.set(account, ++this.#changes);
		if (this.#latest.size <= MAX_CHANGED) return;
		for (const [oldest, change] of this.#latest) {
			this.#latest.delete(oldest);
			this.#forgotten = change;
			return;
		}
	}

	since(known: Revision | undefined): ChangedAccounts {
		const revision = { epoch: this.#epoch, changes: this.#changes };
		if (known?.epoch !== this.#epoch || known.changes < this.#forgotten) return { revision, accounts: "all" };
		if (known.changes === this.#changes) return { revision, accounts: [] };
		const changed = [...this.#latest].filter(([, change]) => change > known.changes);
		return { revision, accounts: changed.map(([account]) => account) };
	}
}
