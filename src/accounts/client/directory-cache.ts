/**
 * An isolate's cache of the `Directory`. An account that exists is cached without expiry: accounts are never removed. The
 * absence of an account is cached for two seconds, because another isolate may record it meanwhile.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Directory, DirectoryPage, DirectoryQuery } from "../durable/directory.ts";

/** Existing and absent accounts each. At the bound all are dropped, and the directory is called again. */
const MAX_CACHED = 10_000;
const ABSENT_MS = 2_000;

/** The calls of the object that the cache makes. */
export type DirectoryCalls = Pick<DurableObjectStub<Directory>, "has" | "add" | "list" | "probe">;

interface DirectoryCacheServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	directory(): DirectoryCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	/** Whether a version without a directory has created the account. Absent: none is of such a version. */
	isOlder?(account: string): boolean;
}

export class DirectoryCache {
	readonly #services: DirectoryCacheServices;
	readonly #existing = new Set<string>();
	/** Until when the absence of an account is cached. */
	readonly #absent = new BoundedMap<string, number>(MAX_CACHED);

	constructor(services: DirectoryCacheServices) {
		this.#services = services;
	}

	/** Whether the cache has the account as existing. Makes no call. */
	isCached(account: string): boolean {
		return this.#existing.has(account);
	}

	/** Throws if the directory cannot be called. */
	async exists(account: string): Promise<boolean> {
		if (this.#existing.has(account)) return true;
		const now = this.#services.now();
		if ((this.#absent.get(account) ?? 0) > now) return false;
		const exists = await this.#services.directory().has(account);
		if (!exists && this.#services.isOlder?.(account)) {
			await this.record(account);
			return true;
		}
		if (exists) this.#remember(account);
		else this.#absent.set(account, now + ABSENT_MS);
		return exists;
	}

	/** Throws if the directory cannot be called: the account must not be used then. */
	async record(account: string): Promise<void> {
		if (this.#existing.has(account)) return;
		await this.#services.directory().add(account);
		this.#remember(account);
	}

	/** Throws if the directory cannot be called. */
	async list(query: DirectoryQuery): Promise<DirectoryPage> {
		return this.#services.directory().list(query);
	}

	/** Throws if the directory cannot be called, or cannot write. */
	async probe(): Promise<void> {
		await this.#services.directory().probe();
	}

	#remember(account: string): void {
		this.#absent.delete(account);
		if (this.#existing.size >= MAX_CACHED) this.#existing.clear();
		this.#existing.add(account);
	}
}
