/**
 * An isolate's cache of the `Directory`. The place of an account is cached without expiry: accounts
 * are never removed, and an object refuses calls for an account that has moved. The
 * absence of an account is cached for two seconds, because another isolate may record it meanwhile.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Directory, DirectoryPage, DirectoryQuery } from "../durable/directory.ts";
import { newPlace, ownPlace } from "../places.ts";

/** At the bounds all are dropped, and the directory is called again. */
const MAX_PLACES = 100_000;
const MAX_ABSENT = 10_000;
const ABSENT_MS = 2_000;

/** The calls of the object that the cache makes. */
export type DirectoryCalls = Pick<
	DurableObjectStub<Directory>,
	"find" | "add" | "list" | "probe" | "setPlace"
>;

interface DirectoryCacheServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	directory(): DirectoryCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	/** Whether a version without a directory has created the account. Absent: none is of such a version. */
	isOlder?(account: string): boolean;
	/** For the places of new accounts. Default: 0. */
	shards?: number;
}

export class DirectoryCache {
	readonly #services: DirectoryCacheServices;
	readonly #places = new Map<string, string>();
	/** Until when the absence of an account is cached. */
	readonly #absent = new BoundedMap<string, number>(MAX_ABSENT);

	constructor(services: DirectoryCacheServices) {
		this.#services = services;
	}

	/** The place of the account, if the cache has it. Makes no call. */
	known(account: string): string | undefined {
		return this.#places.get(account);
	}

	/** The place of the account. Nothing if it does not exist. Throws if the directory cannot be called. */
	async find(account: string): Promise<string | undefined> {
		const known = this.#places.get(account);
		if (known !== undefined) return known;
		const now = this.#services.now();
		if ((this.#absent.get(account) ?? 0) > now) return undefined;
		const place = await this.#services.directory().find(account);
		if (place === undefined && this.#services.isOlder?.(account))
			return this.#record(account, ownPlace(account));
		if (place === undefined) this.#absent.set(account, now + ABSENT_MS);
		else this.#remember(account, place);
		return place;
	}

	/** Returns the place of the account. Throws if the directory cannot be called: the account must not be used then. */
	async record(account: string): Promise<string> {
		const { isOlder, shards = 0 } = this.#services;
		return (
			this.#places.get(account) ?? this.#record(account, newPlace(account, isOlder?.(account) ? 0 : shards))
		);
	}

	/** The account is no longer at this place. */
	forget(account: string): void {
		this.#places.delete(account);
	}

	/** The account has moved. Throws if the directory cannot be called. */
	async setPlace(account: string, place: string): Promise<void> {
		await this.#services.directory().setPlace(account, place);
		this.#remember(account, place);
	}

	/** Throws if the directory cannot be called. */
	async list(query: DirectoryQuery): Promise<DirectoryPage> {
		const page = await this.#services.directory().list(query);
		for (const { id, place } of page.accounts) this.#remember(id, place);
		return page;
	}

	/** Throws if the directory cannot be called, or cannot write. */
	async probe(): Promise<void> {
		await this.#services.directory().probe();
	}

	async #record(account: string, place: string): Promise<string> {
		const recorded = await this.#services.directory().add(account, place);
		this.#remember(account, recorded);
		return recorded;
	}

	#remember(account: string, place: string): void {
		this.#absent.delete(account);
		if (this.#places.size >= MAX_PLACES) this.#places.clear();
		this.#places.set(account, place);
	}
}
