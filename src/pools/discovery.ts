/**
 * Replicas that a service of the operator lists (`pool.discover`). Each isolate reads the list in the background of requests. Its
 * first request waits for it. If the list cannot be read, or has a mistake, the latest one stays in use.
 */
import { hasPassed } from "../core/elapsed.ts";
import { ListError, parseReplicaList, type ReplicaList } from "./replica-list.ts";

export interface DiscoverSettings {
	url: string;
	/** Added to an address without a path. */
	path: string;
	refreshMs: number;
}

interface DiscoveryServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	waitUntil(work: Promise<unknown>): void;
	/** Returns nothing if the service does not answer with a text. */
	read(url: string): Promise<string | undefined>;
}

/** A request waits this long for the first list. */
const MAX_WAIT_MS = 2_000;
/** After a failure, and for a read that belonged to a request that has ended. */
const RETRY_MS = 5_000;

interface Discovered {
	list?: ReplicaList;
	/** Why the latest read has changed nothing. */
	problem?: string | undefined;
	/** Milliseconds from `since` to the next read, at the earliest. */
	wait: number;
	since: number;
}

export class Discoveries {
	readonly #services: DiscoveryServices;
	readonly #backends = new Map<string, Discovered>();

	constructor(services: DiscoveryServices) {
		this.#services = services;
	}

	/** The latest list of a backend. The same object until it changes. Absent: none has been read. */
	of(backend: string): ReplicaList | undefined {
		return this.#backends.get(backend)?.list;
	}

	/** Why the latest read has changed nothing. Absent: it has succeeded, or there was none. */
	problemOf(backend: string): string | undefined {
		return this.#backends.get(backend)?.problem;
	}

	/**
	 * Reads the list if it is due. Returns nothing if the request need not wait. Never rejects.
	 * @param protocol of a pool with two stages.
	 */
	refresh(backend: string, settings: DiscoverSettings, protocol?: string): Promise<void> | undefined {
		const { now, wait, waitUntil } = this.#services;
		const existing = this.#backends.get(backend);
		const at = now();
		const state: Discovered = existing ?? { wait: 0, since: at };
		this.#backends.set(backend, state);
		// Without a list, each request reads, but after a failure only one of them in `RETRY_MS`.
		if (!hasPassed(state.wait, state.since, at)) return undefined;
		if (state.list) Object.assign(state, { wait: RETRY_MS, since: at });
		const read = this.#read(state, settings, protocol);
		waitUntil(read);
		return state.list ? undefined : Promise.race([read, wait(MAX_WAIT_MS).catch(() => {})]);
	}

	/** Reads the list, also if it is not due. Never rejects. */
	async refreshNow(backend: string, settings: DiscoverSettings, protocol?: string): Promise<void> {
		const state = this.#backends.get(backend) ?? { wait: 0, since: this.#services.now() };
		this.#backends.set(backend, state);
		await this.#read(state, settings, protocol);
	}

	/** The list, if there is one, is due this long after its latest read at the latest. */
	hurry(backend: string, milliseconds: number): void {
		const state = this.#backends.get(backend);
		if (state?.list) state.wait = Math.min(state.wait, milliseconds);
	}

	async #read(
		state: Discovered,
		{ url, path, refreshMs }: DiscoverSettings,
		protocol?: string,
	): Promise<void> {
		const { now, read } = this.#services;
		let list: ReplicaList | undefined;
		try {
			const text = await read(url).catch(() => undefined);
			if (text === undefined) throw new ListError("expected a list, found no answer of the service");
			list = parseReplicaList(text, path, protocol);
			state.problem = undefined;
		} catch (error) {
			if (!(error instanceof ListError)) throw error;
			state.problem = error.message;
		}
		Object.assign(state, { wait: list ? refreshMs : Math.min(RETRY_MS, refreshMs), since: now() });
		if (list && JSON.stringify(list) !== JSON.stringify(state.list)) state.list = list;
	}
}
