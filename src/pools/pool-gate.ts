/**
 * Limits the requests in progress of a pool. More requests wait in a fair queue, up to a number and a time; the others are
 * refused (3040). A request that leaves the queue is not charged.
 */
import { AiError } from "../core/errors.ts";
import { own } from "../core/own.ts";
import { settledElsewhere } from "../core/settled-elsewhere.ts";
import { FairQueue, type Queued } from "./fair-queue.ts";

export interface GateSettings {
	/** Requests in progress at each replica. */
	maxRequests: number;
	/** Requests that may wait. */
	maxWaiting: number;
	/** Milliseconds. */
	maxWaitMs: number;
	/** Shares of accounts. Absent accounts have the weight 1. */
	weights?: Readonly<Record<string, number>>;
}

export type GateRequest = Pick<Queued, "account" | "priority" | "cost"> & {
	/** `false`: refused at once if there is no capacity. */
	mayWait: boolean;
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
};

/** A request that has capacity. */
export interface PoolPlace {
	/** The real cost, in the unit of the estimate. */
	correct(cost: number): void;
	/** The request has ended. Only the first call counts. */
	leave(): void;
}

export interface GateServices {
	now(): number;
	/** Resolves after the time; rejects with the signal's reason if it fires first. */
	wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface GateReport {
	waiting: number;
	/** Sum of the estimated costs of the waiting requests. */
	waitingTokens: number;
	/** Milliseconds; 0 if no request waits. */
	oldestMs: number;
	refused: { full: number; timeout: number; drained: number };
}

/** The replicas behind a gate. */
interface GateCapacity {
	/** Replicas that accept requests. */
	replicas: number;
	/** Others may come without a change by the operator. `false`: without a replica, no request waits. */
	mayGrow: boolean;
}

interface Waiting extends Queued {
	/** Milliseconds. */
	queuedAt: number;
	isDecided: boolean;
	/** Admits the request, or refuses it with an error. */
	decide(error?: AiError): void;
}

/** Weight of a request in the mean duration. */
const DURATION_WEIGHT = 0.1;
const MAX_RETRY_SECONDS = 60;

export class PoolGate {
	readonly #settings: GateSettings;
	readonly #replicas: () => GateCapacity;
	readonly #queue = new FairQueue<Waiting>();
	readonly #refused = { full: 0, timeout: 0, drained: 0 };
	#busy = 0;
	#meanMs = 1_000;

	constructor(settings: GateSettings, replicas: () => GateCapacity) {
		this.#settings = settings;
		this.#replicas = replicas;
	}

	report(now: number): GateReport {
		const items = [...this.#queue.items()];
		return {
			waiting: items.length,
			waitingTokens: items.reduce((sum, { cost }) => sum + cost, 0),
			oldestMs: items.reduce((oldest, { queuedAt }) => Math.max(oldest, now - queuedAt), 0),
			refused: { ...this.#refused },
		};
	}

	/** Resolves when the request has capacity. Throws `outOfCapacity` with the seconds after which to retry, or `aborted`. */
	async enter({ mayWait, signal, ...request }: GateRequest, services: GateServices): Promise<PoolPlace> {
		if (signal.aborted) throw new AiError("aborted");
		const decision = settledElsewhere<void>();
		const item: Waiting = {
			...request,
			weight: this.#weightOf(request.account),
			queuedAt: services.now(),
			isDecided: false,
			decide: (error) => {
				item.isDecided = true;
				if (error) decision.reject(error);
				else decision.resolve();
			},
		};
		this.#queue.push(item);
		this.update();
		if (!item.isDecided) await this.#wait(item, decision.promise, { mayWait, signal }, services);
		else await decision.promise;
		return this.#placeOf(item, services);
	}

	async #wait(
		item: Waiting,
		decision: Promise<void>,
		{ mayWait, signal }: Pick<GateRequest, "mayWait" | "signal">,
		{ wait }: GateServices,
	): Promise<void> {
		const { maxWaiting, maxWaitMs } = this.#settings;
		if (!mayWait || this.#queue.size > maxWaiting) throw this.#refuse(item, "full");
		const timer = new AbortController();
		signal.addEventListener("abort", () => timer.abort(), { signal: timer.signal });
		try {
			await Promise.race([decision, wait(maxWaitMs, timer.signal).catch(() => {})]);
		} finally {
			timer.abort();
		}
		// It may have been admitted at the same time.
		if (!this.#queue.delete(item)) return;
		if (signal.aborted) throw new AiError("aborted");
		throw this.#refuse(item, "timeout");
	}

	#refuse(item: Waiting, reason: keyof GateReport["refused"]): AiError {
		this.#queue.delete(item);
		this.#refused[reason]++;
		const seconds = (this.#meanMs * (this.#queue.size + 1)) / Math.max(1, this.#capacity) / 1_000;
		const retryAfter = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(seconds)));
		return new AiError("outOfCapacity", undefined, { retryAfter });
	}

	#weightOf(account: string): number {
		const { weights } = this.#settings;
		return (weights && own(weights, account)) ?? 1;
	}

	get #capacity(): number {
		return this.#settings.maxRequests * this.#replicas().replicas;
	}

	/** The replicas have changed: admits the requests that have capacity now, or refuses all if no replica can take them. */
	update(): void {
		const { mayGrow, replicas } = this.#replicas();
		if (replicas === 0 && !mayGrow)
			for (const item of [...this.#queue.items()]) item.decide(this.#refuse(item, "drained"));
		this.#pump();
	}

	#pump(): void {
		while (this.#busy < this.#capacity) {
			const { next } = this.#queue;
			if (!next) return;
			this.#queue.take(next);
			this.#busy++;
			next.decide();
		}
	}

	#placeOf(item: Waiting, { now }: GateServices): PoolPlace {
		const startedAt = now();
		let hasLeft = false;
		return {
			correct: (cost) => {
				this.#queue.correct(item, cost);
				item.cost = cost;
			},
			leave: () => {
				if (hasLeft) return;
				hasLeft = true;
				this.#busy--;
				this.#meanMs += DURATION_WEIGHT * (now() - startedAt - this.#meanMs);
				this.#pump();
			},
		};
	}
}
