/**
 * An isolate's cache of the `Directory`. An account that exists stays in it: accounts are never removed. That an account
 * does not exist holds for two seconds, because another isolate may record it meanwhile.
 */
import type { Directory, DirectoryPage, DirectoryQuery } from "../durable/directory.ts";

/** Of each kind. At the bound all are dropped, and the directory is asked again. */
const MAX_CACHED = 10_000;
const UNKNOWN_MS = 2_000;

/** The calls of the object that the cache makes. */
export type DirectoryCalls = Pick<DurableObjectStub<Directory>, "has" | "add" | "list">;

export interface KnownAccountsWorld {
	/** A stub belongs to the request that got it: each call needs a new one. */
	directory(): DirectoryCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

export class KnownAccounts {
	readonly #world: KnownAccountsWorld;
	readonly #known = new Set<string>();
	/** Until when an account is taken for unknown. */
	readonly #unknown = new Map<string, number>();

	constructor(world: KnownAccountsWorld) {
		this.#world = world;
	}

	/** Whether the account is known to exist, without a call. */
	isCached(account: string): boolean {
		return this.#known.has(account);
	}

	/** Throws where the directory cannot be asked. */
	async exists(account: string): Promise<boolean> {
		if (this.#known.has(account)) return true;
		const now = this.#world.now();
		if ((this.#unknown.get(account) ?? 0) > now) return false;
		const exists = await this.#world.directory().has(account);
		if (exists) this.#remember(account);
		else {
			if (this.#unknown.size >= MAX_CACHED) this.#unknown.clear();
			this.#unknown.set(account, now + UNKNOWN_MS);
		}
		return exists;
	}

	/** Throws where the directory cannot be asked: the account must not be used then. */
	async record(account: string): Promise<void> {
		if (this.#known.has(account)) return;
		await this.#world.directory().add(account);
		this.#remember(account);
	}

	/** Throws where the directory cannot be asked. */
	async list(query: DirectoryQuery): Promise<DirectoryPage> {
		return this.#world.directory().list(query);
	}

	#remember(account: string): void {
		this.#unknown.delete(account);
		if (this.#known.size >= MAX_CACHED) this.#known.clear();
		this.#known.add(account);
	}
}
