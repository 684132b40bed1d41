/**
 * An isolate's copies of the providers' keys and of the custom providers. A copy is used for `FRESH_MS`: a change takes effect
 * within that time, and at once in the isolate that made it.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import type { ProviderAccess, ProviderAccessTables } from "../durable/provider-access.ts";
import { callObject } from "./call-object.ts";
import { FRESH_MS } from "./fresh-ms.ts";

/** The calls of the object. */
type ProviderAccessCalls = {
	[Name in Exclude<keyof ProviderAccessTables, symbol>]: (
		...args: Parameters<ProviderAccessTables[Name]>
	) => Promise<ReturnType<ProviderAccessTables[Name]>>;
};

interface ProviderAccessServices {
	/** The tables of an account. A stub belongs to the request that created it: each call needs a new one. */
	tables(account: string): ProviderAccessCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

export class ProviderAccesses {
	readonly #services: ProviderAccessServices;
	readonly #cached: FreshCache<ProviderAccess>;

	constructor(services: ProviderAccessServices) {
		this.#services = services;
		this.#cached = new FreshCache({ now: services.now, freshMs: FRESH_MS });
	}

	/** Throws if the object cannot be called. */
	find(account: string, gateway: string): Promise<ProviderAccess> {
		const key = JSON.stringify([account, gateway]);
		return this.#cached.read(key, () => callObject(() => this.#services.tables(account).access(gateway)));
	}

	/** The next request in this isolate reads the tables again. */
	async change<T>(account: string, call: (tables: ProviderAccessCalls) => Promise<T>): Promise<T> {
		try {
			return await callObject(() => call(this.#services.tables(account)));
		} finally {
			this.#cached.clear();
		}
	}

	/** The stored rows of an account, for reads that must be fresh. */
	of(account: string): ProviderAccessCalls {
		return this.#services.tables(account);
	}
}
