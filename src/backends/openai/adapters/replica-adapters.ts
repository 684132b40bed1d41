/**
 * The adapters that one replica of an engine has, as this isolate knows. Per adapter: absent, loading, loaded, failed. One request loads,
 * and the others wait. The least recently used adapter that no request uses makes room for another.
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

interface Waiter {
	resolve(): void;
	reject(failure: AiError): void;
}

interface Loading {
	startedAt: number;
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

	has(adapter: string): boolean {
		return this.#loaded.has(adapter);
	}

	/** The engine has started anew, or has removed it. */
	forget(adapter: string): void {
		this.#loaded.delete(adapter);
	}

	/** Loads the adapter, unless the engine has it. Returns a function that ends its use. Throws 3040 if all places are in use. */
	async use(adapter: string, maxLoaded: number, loads: AdapterLoads): Promise<() => void> {
		if (!this.#loaded.has(adapter)) await this.#load(adapter, maxLoaded, loads);
		const uses = (this.#loaded.get(adapter) ?? 0) + 1;
		// The most recently used is last.
		this.#loaded.delete(adapter);
		this.#loaded.set(adapter, uses);
		let isOver = false;
		return () => {
			const current = this.#loaded.get(adapter);
			if (!isOver && current !== undefined) this.#loaded.set(adapter, Math.max(0, current - 1));
			isOver = true;
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
		const work = this.#makeRoom(maxLoaded, loads)
			.then(() => loads.load(adapter))
			.then(
				() => {
					this.#loaded.set(adapter, 0);
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
			});
		// The others need it if the caller of this request leaves.
		loads.waitUntil(work);
		return loading;
	}

	async #makeRoom(maxLoaded: number, { unload }: AdapterLoads): Promise<void> {
		// The adapter itself is among those that are loading.
		while (this.#loaded.size + this.#loading.size > maxLoaded) {
			const unused = [...this.#loaded].find(([, uses]) => uses === 0)?.[0];
			if (unused === undefined)
				throw new AiError("outOfCapacity", `All ${maxLoaded} places for adapters are in use`);
			this.#loaded.delete(unused);
			await unload(unused);
		}
	}

	#keepFailure(adapter: string, failure: AiError, at: number): void {
		if (this.#failed.size >= MAX_FAILED) this.#failed.clear();
		this.#failed.set(adapter, { at, failure });
	}
}
