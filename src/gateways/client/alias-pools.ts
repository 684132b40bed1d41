/** An isolate's copies of the gateways' aliases. A copy is used for `FRESH_MS`. */
import { FreshCache } from "../../core/fresh-cache.ts";
import { AliasName, type AliasPool } from "../aliases/alias.ts";
import type { GatewayAliases } from "../durable/aliases.ts";
import { callObject } from "./call-object.ts";
import { FRESH_MS } from "./fresh-ms.ts";

/** The calls of the object. */
export type AliasCalls = {
	[Name in Exclude<keyof GatewayAliases, symbol | "deleteAll">]: (
		...args: Parameters<GatewayAliases[Name]>
	) => Promise<ReturnType<GatewayAliases[Name]>>;
};

interface AliasPoolsServices {
	/** The aliases of an account. A stub belongs to the request that created it: each call needs a new one. */
	aliases(account: string): AliasCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

export class AliasPools {
	readonly #services: AliasPoolsServices;
	readonly #cached: FreshCache<AliasPool | undefined>;

	constructor(services: AliasPoolsServices) {
		this.#services = services;
		this.#cached = new FreshCache({ now: services.now, freshMs: FRESH_MS });
	}

	/** `undefined`: the gateway has no such alias. Throws if the object cannot be called. */
	async find(account: string, gateway: string, name: string): Promise<AliasPool | undefined> {
		// Callers may name anything, and each copy has its key in memory.
		if (!AliasName().safeParse(name).success) return undefined;
		const key = JSON.stringify([account, gateway, name]);
		return this.#cached.read(key, () => callObject(() => this.of(account).get(gateway, name)));
	}

	/** Changes the aliases of an account. The next request in this isolate reads them again. */
	async change<T>(account: string, call: (aliases: AliasCalls) => Promise<T>): Promise<T> {
		try {
			return await callObject(() => call(this.of(account)));
		} finally {
			this.#cached.clear();
		}
	}

	/** The stored aliases of an account, for reads that must be fresh. */
	of(account: string): AliasCalls {
		return this.#services.aliases(account);
	}
}
