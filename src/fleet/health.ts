/**
 * The state of the engines in this isolate: a circuit breaker for each target, fed by its own calls and, seconds later, by
 * those of other isolates through the `Fleet` object.
 *
 * One call to the object reports and reads, in the background of a request. If the object cannot be reached, the isolate uses
 * its own view; what it learned before expires, because every cooldown ends.
 */
import { Breaker, type CircuitState } from "./breaker.ts";
import type { HealthReport, View } from "./fleet.ts";

/** Identifies what fails together. */
export interface Addressed {
	backend: string;
	url: string;
	model: string;
	/** The caller chose the model's name: all such names share one circuit, so that callers cannot fill the memory. */
	anyModel?: true;
}

export interface Health {
	/** State of the target's circuit breaker. */
	circuit(target: Addressed): CircuitState;
	/** A call of a target starts. Its owner records the outcome, once. */
	start(target: Addressed): CallOutcome;
	/** The calls of each replica by this isolate since its start. For metrics. */
	engines?(): EngineReport[];
}

export interface EngineReport {
	backend: string;
	url: string;
	/** Host of the engine's address; empty for the simulator. */
	replica: string;
	/** The engine's name of the model; `*` if callers choose it. */
	model: string;
	circuit: CircuitState;
	requests: number;
	failures: number;
	/** Calls that started to answer, and the sum of their waiting times. */
	begun: number;
	waitedMs: number;
}

/** Host of a configured address. Contains no credentials. */
export const hostOf = (url: string): string => URL.parse(url)?.host ?? "";

/** The outcome of one call. Only the first of `succeed`, `fail` and `cancel` counts. */
export interface CallOutcome {
	/** The answer has started. */
	begin(): void;
	succeed(): void;
	/** `cooldownMs`: the engine's `Retry-After`. */
	fail(cooldownMs?: number): void;
	/** The caller has disconnected: the call shows nothing about the engine's health. */
	cancel(): void;
}

/** Delay before a report, so that one call carries several. */
const REPORT_DELAY_MS = 500;
/** A view older than this is read again: well within the first cooldown. */
const VIEW_MS = 2_000;
/** An exchange that takes longer belongs to a request that has ended. */
const EXCHANGE_MS = 10_000;
const MAX_TARGETS = 2_000;

interface HealthServices {
	now(): number;
	waitUntil(promise: Promise<unknown>): void;
	/** Calls the `Fleet` object. Absent if there is none. */
	exchange?(reports: HealthReport[]): Promise<View>;
}

interface Watched {
	target: Addressed;
	requests: number;
	/** All failures, including reported ones. */
	failed: number;
	begun: number;
	waitedMs: number;
	breaker: Breaker;
	/** Failures that are not reported yet. */
	failures: number;
	failedAt: number;
	changed: boolean;
}

export class IsolateHealth implements Health {
	readonly #services: HealthServices;
	readonly #watched = new Map<string, Watched>();
	/** Those that are not closed. Usually there are none, and a circuit needs no look-up. */
	readonly #notClosed = new Set<Breaker>();
	#exchangedAt = Number.NEGATIVE_INFINITY;
	#exchangingSince = Number.NEGATIVE_INFINITY;
	#hasUnreported = false;

	constructor(services: HealthServices) {
		this.#services = services;
	}

	circuit(target: Addressed): CircuitState {
		if (this.#notClosed.size === 0) return "closed";
		return this.#watched.get(keyOf(target))?.breaker.state(this.#services.now()) ?? "closed";
	}

	start(target: Addressed): CallOutcome {
		const { now } = this.#services;
		const watched = this.#watch(keyOf(target), target);
		const { breaker } = watched;
		const since = now();
		watched.requests++;
		let begun = false;
		const noteBegin = () => {
			if (begun) return;
			begun = true;
			watched.begun++;
			watched.waitedMs += Math.max(0, now() - since);
		};
		breaker.start(since);
		this.#exchange();

		let ended = false;
		const end = (change: () => void) => {
			if (ended) return;
			ended = true;
			this.#update(watched, change);
		};
		return {
			begin: () => {
				if (ended) return;
				noteBegin();
				this.#update(watched, () => breaker.begin(now(), since));
			},
			succeed: () =>
				end(() => {
					noteBegin();
					breaker.succeed(now(), since);
					watched.failures = 0;
				}),
			fail: (cooldownMs) =>
				end(() => {
					breaker.fail(now(), since, cooldownMs);
					watched.failures++;
					watched.failed++;
					watched.failedAt = now();
					watched.changed = true;
				}),
			cancel: () => end(() => breaker.cancel(since)),
		};
	}

	/** Recovery is reported only for a circuit that had been open: all others are healthy in every view. */
	#update(watched: Watched, change: () => void): void {
		const { breaker } = watched;
		const before = breaker.circuit;
		change();
		this.#updateNotClosed(breaker);
		const after = breaker.circuit;
		const reopened = after.openedAt !== before.openedAt;
		const closed =
			before.workedAt <= before.openedAt && after.workedAt > after.openedAt && after.openedAt > 0;
		watched.changed ||= reopened || closed;
		this.#hasUnreported ||= watched.changed;
		this.#exchange();
	}

	engines(): EngineReport[] {
		const at = this.#services.now();
		return [...this.#watched.values()].map(
			({ breaker, target, requests, failed, begun, waitedMs }): EngineReport => ({
				backend: target.backend,
				url: target.url,
				replica: hostOf(target.url),
				model: target.anyModel ? "*" : target.model,
				circuit: breaker.state(at),
				requests,
				failures: failed,
				begun,
				waitedMs,
			}),
		);
	}

	#watch(key: string, target: Addressed = addressedBy(key)): Watched {
		const existing = this.#watched.get(key);
		// The map is ordered by the time of the last use.
		if (existing) this.#watched.delete(key);
		else if (this.#watched.size >= MAX_TARGETS) this.#dropOne();
		const watched = existing ?? {
			target,
			requests: 0,
			failed: 0,
			begun: 0,
			waitedMs: 0,
			breaker: new Breaker(),
			failures: 0,
			failedAt: 0,
			changed: false,
		};
		this.#watched.set(key, watched);
		return watched;
	}

	/** Prefers closed circuits: an open one is worth remembering. */
	#dropOne(): void {
		const at = this.#services.now();
		let [dropped] = this.#watched.keys();
		for (const [key, { breaker }] of this.#watched)
			if (breaker.state(at) === "closed") {
				dropped = key;
				break;
			}
		if (dropped === undefined) return;
		const breaker = this.#watched.get(dropped)?.breaker;
		if (breaker) this.#notClosed.delete(breaker);
		this.#watched.delete(dropped);
	}

	#updateNotClosed(breaker: Breaker): void {
		if (breaker.state(this.#services.now()) === "closed") this.#notClosed.delete(breaker);
		else this.#notClosed.add(breaker);
	}

	#exchange(): void {
		const { exchange, now, waitUntil } = this.#services;
		const at = now();
		const age = at - this.#exchangedAt;
		const due = this.#hasUnreported ? age >= REPORT_DELAY_MS : age >= VIEW_MS;
		if (!exchange || !due || at - this.#exchangingSince < EXCHANGE_MS) return;
		this.#exchangingSince = at;
		const reports = [...this.#watched]
			.filter(([, { changed }]) => changed)
			.map(
				([key, { breaker, failures, failedAt }]): HealthReport => ({
					key,
					failures,
					failedAt,
					circuit: breaker.circuit,
				}),
			);
		this.#hasUnreported = false;
		for (const watched of this.#watched.values()) {
			watched.changed = false;
			watched.failures = 0;
		}
		// A failure of the object, even a synchronous one, must not fail the request.
		const exchanged = (async () => exchange(reports))();
		waitUntil(
			exchanged.then(
				(view) => this.#learn(view),
				// These reports are lost for the other isolates; the next exchange has new ones.
				() => this.#endExchange(),
			),
		);
	}

	#learn(view: View): void {
		this.#endExchange();
		for (const [key, circuit] of Object.entries(view)) {
			const isOpen = circuit.openedAt > circuit.workedAt;
			const watched = isOpen ? this.#watch(key) : this.#watched.get(key);
			if (!watched) continue;
			watched.breaker.learn(circuit);
			this.#updateNotClosed(watched.breaker);
		}
	}

	#endExchange(): void {
		this.#exchangedAt = this.#services.now();
		this.#exchangingSince = Number.NEGATIVE_INFINITY;
	}
}

const keyOf = ({ backend, url, model, anyModel }: Addressed): string =>
	anyModel ? `${backend} ${url}` : `${backend} ${url} ${model}`;

/** Parses a key that another isolate reported. */
function addressedBy(key: string): Addressed {
	const [backend = "", url = "", ...model] = key.split(" ");
	return model.length > 0
		? { backend, url, model: model.join(" ") }
		: { backend, url, model: "*", anyModel: true };
}
