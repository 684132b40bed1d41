/**
 * The adapters that one replica of an engine has, as this isolate knows. Per adapter: absent, loading, loaded, failed. One request loads,
 * and the others wait. The least recently used adapter that no request uses makes room for another. If all places are taken by loads, each
 * request for a further adapter waits for the end of one of them, and the first that finds a place loads it.
 *
 * A request's timers and fetches may be used only while that request runs, so each request waits for a promise of its own, and has a timer.
 */
import { hasPassed } from "../../../core/elapsed.ts";
import { AiError, toAiError } from "../../../core/errors.ts";
import type { StartTimer } from "../../../core/lazy-timer.ts";
import { settledElsewhere } from "../../../core/settled-elsewhere.ts";

/** An adapter that the engine has refused is not loaded again before. */
const FAILED_MS = 60_000;
/** Of one load. Weights of 500 MB from a slow disk take some seconds. */
export const LOAD_MS = 120_000;
const MAX_FAILED = 1_000;
/** No other load waits longer for it: it may never end. */
const HUNG_MS = 10_000;
/** A request that waited for a load uses its adapter within this time, or has left. */
const PENDING_USE_MS = 1_000;

interface Waiter {
	resolve(): void;
	reject(failure: AiError): void;
}

interface Loading {
	/** Since when it has one of the places. */
	placedAt: number;
	waiters: Set<Waiter>;
}

export interface AdapterLoads {
	now(): number;
	/** Of native timers: the runtime ends a request as hung if it waits for another one and has nothing under way. */
	startTimer: StartTimer;
	/** Fires when the caller leaves. */
	left: AbortSignal;
	/** How long a request waits for a place, and then for a load, from the start of each. The load itself goes on. */
	waitMs: number;
	/** The failure of a request that has waited so long. */
	late(): AiError;
	waitUntil(work: Promise<unknown>): void;
	/** Throws a `RefusedAdapter` if the engine has refused it. */
	load(adapter: string): Promise<void>;
	/** A failure is ignored. */
	unload(adapter: string): Promise<void>;
}

/** The engine refuses the adapter, and would do so again. */
export class RefusedAdapter extends Error {
	readonly failure: AiError;

	constructor(failure: AiError) {
		super(failure.message);
		this.failure = failure;
	}
}

export class ReplicaAdapters {
	/** The number of requests that use each. The least recently used is first. */
	readonly #loaded = new Map<string, number>();
	readonly #loading = new Map<string, Loading>();
	readonly #failed = new Map<string, { at: number; failure: AiError }>();
	/** Requests that waited for a load which has ended, and do not use the adapter yet. */
	readonly #pendingUses = new Map<string, { requests: number; at: number }>();
	/** Requests that wait for a place. */
	#waiting = new Set<() => void>();

	has(adapter: string): boolean {
		return this.#loaded.has(adapter);
	}

	/** The engine has started anew, or has removed it. */
	forget(adapter: string): void {
		this.#loaded.delete(adapter);
		this.#pendingUses.delete(adapter);
	}

	/** Loads the adapter, unless the engine has it. Returns a function that ends its use. Throws 3040 if all places are in use. */
	async use(adapter: string, maxLoaded: number, loads: AdapterLoads): Promise<() => void> {
		const askedAt = loads.now();
		while (!this.#loaded.has(adapter)) {
			const loading = this.#loadingOf(adapter, loads.now()) ?? this.#start(adapter, maxLoaded, loads);
			if (!loading) {
				await this.#waitForPlace(askedAt, loads);
				continue;
			}
			await this.#waitFor(loading, loads);
			const pending = this.#pendingUses.get(adapter);
			if (pending) pending.requests--;
			break;
		}
		const uses = (this.#loaded.get(adapter) ?? 0) + 1;
		// The most recently used is last.
		this.#loaded.delete(adapter);
		this.#loaded.set(adapter, uses);
		let isOver = false;
		return () => {
			const current = this.#loaded.get(adapter);
			if (!isOver && current !== undefined) this.#loaded.set(adapter, Math.max(0, current - 1));
			isOver = true;
			this.#wake();
		};
	}

	/** Throws the failure of a load that has failed lately. */
	#loadingOf(adapter: string, now: number): Loading | undefined {
		const failed = this.#failed.get(adapter);
		if (failed && !hasPassed(FAILED_MS, failed.at, now)) throw failed.failure;
		this.#failed.delete(adapter);
		const loading = this.#loading.get(adapter);
		// Its request may have been stopped with its caller.
		return hasPassed(LOAD_MS, loading?.placedAt, now) ? undefined : loading;
	}

	#waitFor(loading: Loading, loads: AdapterLoads): Promise<void> {
		const leftMs = loads.waitMs - Math.max(0, loads.now() - loading.placedAt);
		if (leftMs <= 0) throw loads.late();
		const { promise, resolve, reject } = settledElsewhere<void>();
		const waiter: Waiter = { resolve, reject };
		const timer = loads.startTimer(leftMs, () => reject(loads.late()), loads.left);
		loading.waiters.add(waiter);
		return promise.finally(() => {
			timer.cancel();
			loading.waiters.delete(waiter);
		});
	}

	/** Nothing if loads have taken all places. Throws 3040 if requests use the adapters in all of them. */
	#start(adapter: string, maxLoaded: number, loads: AdapterLoads): Loading | undefined {
		const removed = this.#makeRoom(maxLoaded, loads.now());
		if (!removed) return undefined;
		const loading: Loading = { placedAt: loads.now(), waiters: new Set() };
		this.#loading.set(adapter, loading);
		const load = async (): Promise<void> => {
			for (const name of removed) await loads.unload(name);
			await loads.load(adapter);
		};
		const work = load()
			.then(
				() => {
					this.#loaded.set(adapter, 0);
					this.#pendingUses.set(adapter, { requests: loading.waiters.size, at: loads.now() });
					for (const { resolve } of loading.waiters) resolve();
				},
				(error: unknown) => {
					const failure = error instanceof RefusedAdapter ? error.failure : toAiError(error);
					if (error instanceof RefusedAdapter) this.#keepFailure(adapter, failure, loads.now());
					for (const { reject } of loading.waiters) reject(failure);
				},
			)
			.finally(() => {
				if (this.#loading.get(adapter) === loading) this.#loading.delete(adapter);
				this.#wake();
			});
		// The others need it if the caller of this request leaves.
		loads.waitUntil(work);
		return loading;
	}

	/** Returns the adapters to unload, which are forgotten. */
	#makeRoom(maxLoaded: number, now: number): string[] | undefined {
		const placed = this.#placedAtOfLoads(now);
		const unused = [...this.#loaded].flatMap(([name, uses]) =>
			uses > 0 || this.#hasPendingUse(name, now) ? [] : name,
		);
		const excess = this.#loaded.size + placed.length + 1 - maxLoaded;
		if (excess <= unused.length) {
			const removed = unused.slice(0, Math.max(0, excess));
			for (const name of removed) this.forget(name);
			return removed;
		}
		if (placed.length > 0) return undefined;
		throw new AiError("outOfCapacity", `All ${maxLoaded} places for adapters are in use`);
	}

	#hasPendingUse(adapter: string, now: number): boolean {
		const pending = this.#pendingUses.get(adapter);
		return pending !== undefined && pending.requests > 0 && !hasPassed(PENDING_USE_MS, pending.at, now);
	}

	/** Of the loads for whose end others wait. */
	#placedAtOfLoads(now: number): number[] {
		return [...this.#loading.values()].flatMap(({ placedAt }) =>
			hasPassed(HUNG_MS, placedAt, now) ? [] : placedAt,
		);
	}

	/** Resolves when a place may be free. */
	async #waitForPlace(askedAt: number, { left, startTimer, waitMs, late, now }: AdapterLoads): Promise<void> {
		const at = now();
		const leftMs = waitMs - Math.max(0, at - askedAt);
		if (leftMs <= 0) throw late();
		const { promise, resolve } = settledElsewhere<void>();
		const untilHungMs = Math.min(...this.#placedAtOfLoads(at)) + HUNG_MS - at;
		const timer = startTimer(Math.min(leftMs, untilHungMs), resolve, left);
		this.#waiting.add(resolve);
		await promise;
		timer.cancel();
		this.#waiting.delete(resolve);
	}

	#wake(): void {
		const woken = this.#waiting;
		// Nothing continues for a caller who has left.
		this.#waiting = new Set();
		for (const resolve of woken) resolve();
	}

	#keepFailure(adapter: string, failure: AiError, at: number): void {
		if (this.#failed.size >= MAX_FAILED) this.#failed.clear();
		this.#failed.set(adapter, { at, failure });
	}
}
