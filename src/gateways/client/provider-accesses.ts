/**
 * An isolate's copies of the providers' keys and of the custom providers. A copy is used for `FRESH_MS`: a change takes effect
 * within that time, and at once in the isolate that made it.
 */
import type { ProviderAccess, ProviderAccessTables } from "../durable/provider-access.ts";

export const FRESH_MS = 5_000;
const MAX_CACHED = 1_000;

/** The calls of the object. */
export type ProviderAccessCalls = {
	[Name in Exclude<keyof ProviderAccessTables, symbol>]: (
		...args: Parameters<ProviderAccessTables[Name]>
	) => Promise<ReturnType<ProviderAccessTables[Name]>>;
};

export interface ProviderAccessServices {
	/** The tables of an account. A stub belongs to the request that created it: each call needs a new one. */
	tables(account: string): ProviderAccessCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

export class ProviderAccesses {
	readonly #services: ProviderAccessServices;
	readonly #cached = new Map<string, { access: ProviderAccess; at: number }>();

	constructor(services: ProviderAccessServices) {
		this.#services = services;
	}

	/** Throws if the object cannot be called. */
	async find(account: string, gateway: string): Promise<ProviderAccess> {
		const key = JSON.stringify([account, gateway]);
		const { now, tables } = this.#services;
		const cached = this.#cached.get(key);
		// A clock that was set back also makes the copy stale.
		if (cached && Math.abs(now() - cached.at) < FRESH_MS) return cached.access;
		const access = await tables(account).access(gateway);
		if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
		this.#cached.set(key, { access, at: now() });
		return access;
	}

	/** The next request in this isolate reads the tables again. */
	async change<T>(account: string, call: (tables: ProviderAccessCalls) => Promise<T>): Promise<T> {
		try {
			return await call(this.#services.tables(account));
		} finally {
			this.#cached.clear();
		}
	}

	/** The stored rows of an account, for reads that must be fresh. */
	of(account: string): ProviderAccessCalls {
		return this.#services.tables(account);
	}
}
