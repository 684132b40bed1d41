/**
 * The adapters that one replica of an engine has, as this isolate knows. Per adapter: absent, loading, loaded, failed. One request loads,
 * and the others wait. The least recently used adapter that no request uses makes room for another. If all places are taken by loads, the next
 * one waits for the end of one of them.
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
/** A load that takes longer keeps no other one waiting: the engine may have no end of it. */
const HUNG_MS = 10_000;
/** A request that waited for a load uses its adapter within this time, or has left. */
const HANDED_MS = 1_000;

interface Waiter {
	resolve(): void;
	reject(failure: AiError): void;
}

interface Loading {
	startedAt: number;
	/** Since when it has one of the places. Absent: it waits for one. */
	placedAt?: number;
	waiters: Set<Waiter>;
}

export interface AdapterLoads {
	now(): number;
	/** Of native timers: the runtime ends a request as hung if it waits for another one and has nothing under way. */
	startTimer: StartTimer;
	/** Fires when the caller leaves. */
	left: AbortSignal;
	/** How long requests wait for a load, from its start. The load itself goes on. */
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
	readonly #handed = new Map<string, { requests: number; at: number }>();
	/** Loads that wait for a place. */
	readonly #waiting = new Set<() => void>();

	has(adapter: string): boolean {
		return this.#loaded.has(adapter);
	}

	/** The engine has started anew, or has removed it. */
	forget(adapter: string): void {
		this.#loaded.delete(adapter);
		this.#handed.delete(adapter);
	}

	/** Loads the adapter, unless the engine has it. Returns a function that ends its use. Throws 3040 if all places are in use. */
	async use(adapter: string, maxLoaded: number, loads: AdapterLoads): Promise<() => void> {
		if (!this.#loaded.has(adapter)) {
			await this.#load(adapter, maxLoaded, loads);
			const handed = this.#handed.get(adapter);
			if (handed) handed.requests--;
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

	#load(adapter: string, maxLoaded: number, loads: AdapterLoads): Promise<void> {
		const failed = this.#failed.get(adapter);
		if (failed && !hasPassed(FAILED_MS, failed.at, loads.now())) throw failed.failure;
		this.#failed.delete(adapter);
		const pending = this.#loading.get(adapter);
		// Its request may have been stopped with its caller.
		const isLost = pending && hasPassed(LOAD_MS, pending.startedAt, loads.now());
		const loading = pending && !isLost ? pending : this.#start(adapter, maxLoaded, loads);
		const leftMs = loads.waitMs - Math.max(0, loads.now() - loading.startedAt);
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

	#start(adapter: string, maxLoaded: number, loads: AdapterLoads): Loading {
		const loading: Loading = { startedAt: loads.now(), waiters: new Set() };
		this.#loading.set(adapter, loading);
		const work = this.#place(loading, maxLoaded, loads)
			.then(() => loads.load(adapter))
			.then(
				() => {
					this.#loaded.set(adapter, 0);
					this.#handed.set(adapter, { requests: loading.waiters.size, at: loads.now() });
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

	/** Throws 3040 if requests use the adapters in all places. */
	async #place(loading: Loading, maxLoaded: number, loads: AdapterLoads): Promise<void> {
		for (;;) {
			const now = loads.now();
			const taken = this.#taken(now);
			const unused = [...this.#loaded].flatMap(([name, uses]) =>
				uses > 0 || this.#isHanded(name, now) ? [] : name,
			);
			const excess = this.#loaded.size + taken.length + 1 - maxLoaded;
			if (excess <= unused.length) {
				loading.placedAt = now;
				const removed = unused.slice(0, Math.max(0, excess));
				for (const name of removed) {
					this.#loaded.delete(name);
					this.#handed.delete(name);
				}
				for (const name of removed) await loads.unload(name);
				return;
			}
			if (taken.length === 0)
				throw new AiError("outOfCapacity", `All ${maxLoaded} places for adapters are in use`);
			await this.#change(Math.min(...taken) + HUNG_MS - now, loads);
		}
	}

	#isHanded(adapter: string, now: number): boolean {
		const handed = this.#handed.get(adapter);
		return handed !== undefined && handed.requests > 0 && !hasPassed(HANDED_MS, handed.at, now);
	}

	/** Since when other loads have a place. */
	#taken(now: number): number[] {
		return [...this.#loading.values()].flatMap(({ placedAt }) =>
			placedAt === undefined || hasPassed(HUNG_MS, placedAt, now) ? [] : placedAt,
		);
	}

	/** Resolves when a place may be free, at the latest after these milliseconds. */
	async #change(milliseconds: number, { left, startTimer }: AdapterLoads): Promise<void> {
		const { promise, resolve } = settledElsewhere<void>();
		const timer = startTimer(milliseconds, resolve, left);
		this.#waiting.add(resolve);
		await promise;
		timer.cancel();
		this.#waiting.delete(resolve);
	}

	#wake(): void {
		for (const resolve of this.#waiting) resolve();
	}

	#keepFailure(adapter: string, failure: AiError, at: number): void {
		if (this.#failed.size >= MAX_FAILED) this.#failed.clear();
		this.#failed.set(adapter, { at, failure });
	}
}
