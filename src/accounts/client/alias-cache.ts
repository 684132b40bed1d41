/**
 * The aliases of accounts, as one isolate has read them. A write in this isolate takes effect at once, a write in another
 * one within `FRESH_MS`.
 */
import type { AliasRow } from "../durable/alias-table.ts";

export const FRESH_MS = 10_000;
const MAX_ACCOUNTS = 1_000;

export class AliasCache {
	readonly #read = new Map<string, { rows: readonly AliasRow[]; at: number }>();
	readonly #now: () => number;

	constructor(now: () => number) {
		this.#now = now;
	}

	get(account: string): readonly AliasRow[] | undefined {
		const entry = this.#read.get(account);
		// A clock that was set back makes an entry old, too.
		return entry && Math.abs(this.#now() - entry.at) < FRESH_MS ? entry.rows : undefined;
	}

	set(account: string, rows: readonly AliasRow[]): void {
		if (this.#read.size >= MAX_ACCOUNTS) this.#read.clear();
		this.#read.set(account, { rows, at: this.#now() });
	}

	forget(account: string): void {
		this.#read.delete(account);
	}
}
