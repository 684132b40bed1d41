/**
 * An isolate's cache of the accounts' aliases. A write in this isolate takes effect at once, a write in another isolate within
 * `FRESH_MS`.
 */
import type { AliasRow } from "../durable/alias-table.ts";

export const FRESH_MS = 10_000;
const MAX_ACCOUNTS = 1_000;

export class AliasCache {
	readonly #accounts = new Map<string, { rows: readonly AliasRow[]; at: number }>();
	readonly #now: () => number;

	constructor(now: () => number) {
		this.#now = now;
	}

	get(account: string): readonly AliasRow[] | undefined {
		const cached = this.#accounts.get(account);
		// A clock that was set back also makes the rows stale.
		return cached && Math.abs(this.#now() - cached.at) < FRESH_MS ? cached.rows : undefined;
	}

	set(account: string, rows: readonly AliasRow[]): void {
		if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear();
		this.#accounts.set(account, { rows, at: this.#now() });
	}

	delete(account: string): void {
		this.#accounts.delete(account);
	}
}
