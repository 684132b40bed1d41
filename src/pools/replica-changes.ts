/**
 * The operator's changes to the replicas of the configuration: replicas that were added, drained or removed while the gateway
 * runs. The `Fleet` object stores them. Each isolate has a copy, which it reads again while requests arrive
 * (`fleet/health.ts`). The first request of an isolate, and the first after a pause, waits for the copy. The only isolate of a deployment
 * makes all changes itself, so it reads them once.
 */
import { hasPassed } from "../core/elapsed.ts";
import type { NamedReplica } from "./replica-roles.ts";

export type ReplicaState = "active" | "draining" | "removed";

/** At most one for each backend and address. The role is that of a replica that was added. */
export interface ReplicaChange extends NamedReplica {
	backend: string;
	state: ReplicaState;
	/** The configuration does not have the replica. */
	added: boolean;
}

/** Every exchange of an isolate returns all changes. */
export const MAX_CHANGES = 2_000;

/** `put` and `delete` return all changes. */
export interface ChangeStore {
	/** Reads all changes, and passes them to {@link ReplicaChanges.replace}. Returns whether it succeeded. Never rejects. Many may await one read. */
	read(): Promise<boolean>;
	/** Returns nothing if there are `MAX_CHANGES` others. */
	put(change: ReplicaChange): Promise<ReplicaChange[] | undefined>;
	delete(change: Pick<ReplicaChange, "backend" | "url">): Promise<ReplicaChange[]>;
}

interface ChangeServices {
	/** Milliseconds. */
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Absent: the deployment has no `Fleet` object, and no changes. */
	store?: ChangeStore;
	/** No other isolate changes replicas. */
	isOnlyProcess?: boolean;
}

/** A copy that is older is read before the next request. While requests arrive, the health exchange brings it in time. */
const MAX_AGE_MS = 2_500;
/** A request waits this long for the copy, and then uses the old one. */
const MAX_WAIT_MS = 1_000;

/** A replica of the configuration or of a change. */
export interface ListedReplica {
	url: string;
	state: ReplicaState;
	added: boolean;
}

/** The replicas of the configuration in its order, then those that were added. */
export const listReplicas = (
	urls: readonly string[],
	changes: readonly ReplicaChange[] = [],
): ListedReplica[] => [
	...urls
		.filter((url) => url !== "")
		.map((url): ListedReplica => {
			const change = changes.find((one) => one.url === url);
			return { url, state: change?.state ?? "active", added: false };
		}),
	...changes
		.filter(({ url, added }) => added && !urls.includes(url))
		.map(({ url, state }) => ({ url, state, added: true })),
];

export class ReplicaChanges {
	readonly #services: ChangeServices;
	#byBackend = new Map<string, readonly ReplicaChange[]>();
	#readAt = Number.NEGATIVE_INFINITY;
	#writes = 0;
	/** A read has succeeded since the latest change of this isolate. */
	#isRead = false;

	constructor(services: ChangeServices) {
		this.#services = services;
	}

	/** The changes of one backend. The same array until they change. Absent: there are none. */
	of(backend: string): readonly ReplicaChange[] | undefined {
		return this.#byBackend.get(backend);
	}

	/** Reads the changes if the copy is too old. Returns nothing if it is not. Never rejects. */
	refresh(): Promise<void> | undefined {
		const { isOnlyProcess, now, store, wait } = this.#services;
		if (isOnlyProcess && this.#isRead) return undefined;
		const at = now();
		if (!store || !hasPassed(MAX_AGE_MS, this.#readAt, at)) return undefined;
		const before = this.#readAt;
		// The next request does not wait again. A later one, or the exchange of health, reads the changes when the object is back.
		const useOld = (): void => {
			if (this.#readAt === before) this.#readAt = at;
		};
		const read = store.read().then((isRead) => (isRead ? undefined : useOld()));
		return Promise.race([read, wait(MAX_WAIT_MS).then(useOld, () => {})]);
	}

	/** The number of changes that this isolate has made. */
	get writes(): number {
		return this.#writes;
	}

	/** @param writes those at the start of the read. A read that started before the latest change of this isolate is ignored. */
	replace(changes: readonly ReplicaChange[], writes: number): void {
		if (writes < this.#writes) return;
		this.#isRead = true;
		this.#readAt = this.#services.now();
		this.#replace(changes);
	}

	/** Returns `false` if there are too many changes. Throws if the object cannot be called. */
	async put(change: ReplicaChange): Promise<boolean> {
		const changes = await this.#store.put(change);
		if (changes) this.#written(changes);
		return changes !== undefined;
	}

	/** Deletes a change. Throws if the object cannot be called. */
	async delete(change: Pick<ReplicaChange, "backend" | "url">): Promise<void> {
		this.#written(await this.#store.delete(change));
	}

	get canChange(): boolean {
		return this.#services.store !== undefined;
	}

	get #store(): ChangeStore {
		const { store } = this.#services;
		if (!store) throw new Error("There is no Fleet object");
		return store;
	}

	#written(changes: readonly ReplicaChange[]): void {
		this.#writes++;
		this.#readAt = this.#services.now();
		this.#isRead = false;
		this.#replace(changes);
	}

	/** Keeps the array of a backend whose changes are the same. */
	#replace(changes: readonly ReplicaChange[]): void {
		const before = this.#byBackend;
		this.#byBackend = new Map(
			[...Map.groupBy(changes, ({ backend }) => backend)].map(([backend, rows]) => {
				const existing = before.get(backend);
				return [backend, existing && JSON.stringify(existing) === JSON.stringify(rows) ? existing : rows];
			}),
		);
	}
}
