/**
 * An isolate's cache of the `Directory`. The place of an account is cached without expiry: an object refuses calls for an account that
 * has moved, and `core/deleted-accounts.ts` those for one that was deleted. The
 * absence of an account is cached for two seconds, because another isolate may record it meanwhile.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";
import type {
	Directory,
	DirectoryPage,
	DirectoryQuery,
	NewAccount,
	RecordedAccount,
} from "../durable/directory.ts";
import { newPlace, ownPlace } from "../places.ts";
import { BatchQueue } from "./batch-queue.ts";

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
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	/** Whether a version without a directory has created the account. Absent: none is of such a version. */
	isOlder?(account: string): boolean;
	/** For the places of new accounts. Default: 0. */
	shards?: number;
}

export class DirectoryCache {
	readonly #services: DirectoryCacheServices;
	readonly #places = new Map<string, string>();
	/** Of `#places`: those that are to move to a shard. */
	readonly #earlier = new Set<string>();
	/** Since when the absence of an account is known. */
	readonly #absent = new BoundedMap<string, number>(MAX_ABSENT);

	/** New accounts share a call, and so its commit. */
	readonly #additions: BatchQueue<NewAccount, RecordedAccount | undefined>;

	constructor(services: DirectoryCacheServices) {
		this.#services = services;
		this.#additions = new BatchQueue(services);
	}

	/** The place of the account, if the cache has it, and the account need not move. Makes no call. */
	known(account: string): string | undefined {
		return this.#earlier.has(account) ? undefined : this.#places.get(account);
	}

	/** The place of the account. Nothing if it does not exist. Throws if the directory cannot be called. */
	async find(account: string): Promise<string | undefined> {
		const known = this.#places.get(account);
		if (known !== undefined) return known;
		const now = this.#services.now();
		if (!hasPassed(ABSENT_MS, this.#absent.get(account), now)) return undefined;
		const { directory, isOlder } = this.#services;
		const recorded = (await directory().find(account)) ?? undefined;
		if (recorded) return this.#remember(recorded);
		if (isOlder?.(account)) return this.#add(account);
		this.#absent.set(account, now);
		return undefined;
	}

	/** Returns the place of the account. Throws if the directory cannot be called: the account must not be used then. */
	async record(account: string): Promise<string> {
		const known = this.#places.get(account);
		if (known !== undefined) return known;
		return this.#add(account);
	}

	async #add(id: string): Promise<string> {
		const { directory, isOlder } = this.#services;
		const account: NewAccount = isOlder?.(id) ? { id } : { id, place: this.placeFor(id) };
		const recorded = await this.#additions.add(account, async (accounts) => directory().add(accounts));
		if (!recorded) throw new Error("The account is deleted");
		return this.#remember(recorded);
	}

	/** The place that a new account would get. */
	placeFor(account: string): string {
		return newPlace(account, this.#services.shards ?? 0);
	}

	/** Whether an earlier version has recorded the account, and it must move to a shard. */
	isEarlier(account: string): boolean {
		return this.#earlier.has(account);
	}

	/** As {@link find}, without the cache. */
	lookUp(account: string): Promise<string | undefined> {
		this.forget(account);
		return this.find(account);
	}

	/** The account is no longer at this place. */
	forget(account: string): void {
		this.#places.delete(account);
		this.#earlier.delete(account);
	}

	/**
	 * Where rows of the account may be. `former`: it has left these places. `present`: its place, and that of a new account. Throws if the
	 * directory cannot be called.
	 */
	async places(account: string): Promise<{ former: string[]; present: string[] }> {
		const recorded = (await this.#services.directory().find(account)) ?? undefined;
		const present = recorded ? [recorded.place ?? ownPlace(account)] : [];
		const former = (recorded?.former ?? []).filter((place) => !present.includes(place));
		return { former, present: [...present, this.placeFor(account)] };
	}

	/** The account has moved. Throws if the directory cannot be called. */
	async setPlace(account: string, place: string): Promise<void> {
		await this.#services.directory().setPlace(account, place);
		this.#earlier.delete(account);
		this.#remember({ id: account, place });
	}

	/** Throws if the directory cannot be called. */
	async list(query: DirectoryQuery): Promise<DirectoryPage> {
		const page = await this.#services.directory().list(query);
		for (const recorded of page.accounts) this.#remember(recorded);
		return page;
	}

	/** Throws if the directory cannot be called, or cannot write. */
	async probe(): Promise<void> {
		await this.#services.directory().probe();
	}

	#remember({ id, place }: Pick<RecordedAccount, "id" | "place">): string {
		this.#absent.delete(id);
		if (this.#places.size >= MAX_PLACES) {
			this.#places.clear();
			this.#earlier.clear();
		}
		if (place === undefined && this.#services.shards) this.#earlier.add(id);
		const named = place ?? ownPlace(id);
		this.#places.set(id, named);
		return named;
	}
}
