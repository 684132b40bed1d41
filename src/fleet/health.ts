/**
 * The state of the engines in this isolate: a circuit breaker for each target, fed by its own calls and, seconds later, by
 * those of other isolates through the `Fleet` object.
 *
 * One call to the object reports and reads. It runs in the background of a request, and after a pause the request waits for it
 * (`pools/replica-changes.ts`). If the object cannot be reached, the isolate uses its own view; what it learned before expires, because
 * every cooldown ends.
 */
import { hasPassed, SetBackClock } from "../core/elapsed.ts";
import { awaitedElsewhere } from "../core/settled-elsewhere.ts";
import { Breaker, type CircuitState } from "./breaker.ts";
import type { HealthReport, View } from "./fleet.ts";
import { type Addressed, type CallOutcome, type Watched, WatchedCall } from "./watched-call.ts";

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
	/** Nobody shares its view, so it is exchanged by {@link IsolateHealth.exchange} only. */
	isOnlyProcess?: boolean;
}

interface RunningExchange {
	since: number;
	succeeds: Promise<boolean>;
}

export class IsolateHealth implements Health {
	readonly #services: HealthServices;
	readonly #watched = new Map<string, Watched>();
	/** Those that are not closed. Usually there are none, and a circuit needs no look-up. */
	readonly #notClosed = new Set<Breaker>();
	/** Uses of all targets so far. */
	#uses = 0;
	#exchangedAt = Number.NEGATIVE_INFINITY;
	/** The exchange that is under way. */
	#running: RunningExchange | undefined;
	#hasUnreported = false;
	readonly #clock = new SetBackClock();

	constructor(services: HealthServices) {
		this.#services = services;
	}

	circuit(target: Addressed): CircuitState {
		if (this.#notClosed.size === 0) return "closed";
		// It may replace the breakers.
		const now = this.#now();
		return this.#watched.get(keyOf(target))?.breaker.state(now) ?? "closed";
	}

	start(target: Addressed): CallOutcome {
		const watched = this.#watch(keyOf(target), target);
		const since = this.#now();
		watched.requests++;
		watched.breaker.start(since);
		this.#exchangeIfDue(since);
		return new WatchedCall(watched, since, this.#now, this.#onOutcome);
	}

	/** After the clock was set back, the circuits of that time would not change until it has caught up. So all are closed again. */
	readonly #now = (): number => {
		const now = this.#services.now();
		if (!this.#clock.notices(now)) return now;
		this.#notClosed.clear();
		for (const watched of this.#watched.values())
			Object.assign(watched, { breaker: new Breaker(), failures: 0, changed: false });
		this.#exchangedAt = Number.NEGATIVE_INFINITY;
		this.#running = undefined;
		return now;
	};

	readonly #onOutcome = (watched: Watched, at: number): void => {
		this.#updateNotClosed(watched.breaker, at);
		this.#hasUnreported ||= watched.changed;
		this.#exchangeIfDue(at);
	};

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
		if (existing) {
			existing.usedAt = ++this.#uses;
			return existing;
		}
		if (this.#watched.size >= MAX_TARGETS) this.#dropOne();
		const watched: Watched = {
			target,
			usedAt: ++this.#uses,
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

	/** Drops the least recently used one. Prefers closed circuits, because the state of an open one would be lost. */
	#dropOne(): void {
		const at = this.#services.now();
		const rank = ({ breaker, usedAt }: Watched): number =>
			usedAt + (breaker.state(at) === "closed" ? 0 : this.#uses);
		const [first] = [...this.#watched].sort(([, one], [, other]) => rank(one) - rank(other));
		if (!first) return;
		const [key, { breaker }] = first;
		this.#notClosed.delete(breaker);
		this.#watched.delete(key);
	}

	#updateNotClosed(breaker: Breaker, at: number): void {
		if (breaker.state(at) === "closed") this.#notClosed.delete(breaker);
		else this.#notClosed.add(breaker);
	}

	#exchangeIfDue(at: number): void {
		const { exchange, isOnlyProcess } = this.#services;
		const age = at - this.#exchangedAt;
		const due = this.#hasUnreported ? age >= REPORT_DELAY_MS : age >= VIEW_MS;
		if (exchange && !isOnlyProcess && due) void this.exchange();
	}

	/**
	 * Reports and reads now, unless an exchange is under way, which all await then. Never rejects: a failure of the object, even a synchronous
	 * one, must not fail the request. It goes on if the request ends before, because it has taken the reports. Returns whether it succeeded.
	 */
	exchange(): Promise<boolean> {
		const since = this.#now();
		if (this.#running && !hasPassed(EXCHANGE_MS, this.#running.since, since)) return this.#running.succeeds;
		const running: RunningExchange = { since, succeeds: Promise.resolve(false) };
		this.#running = running;
		running.succeeds = awaitedElsewhere(this.#exchange(running));
		this.#services.waitUntil(running.succeeds);
		return running.succeeds;
	}

	async #exchange(running: RunningExchange): Promise<boolean> {
		const reports: HealthReport[] = [];
		for (const [key, watched] of this.#watched) {
			const { breaker, changed, failures, failedAt } = watched;
			if (changed) reports.push({ key, failures, failedAt, circuit: breaker.circuit });
			watched.changed = false;
			watched.failures = 0;
		}
		this.#hasUnreported = false;
		let view: View | undefined;
		try {
			view = await this.#services.exchange?.(reports);
		} catch {
			// These reports are lost for the other isolates; the next exchange has new ones.
		}
		this.#exchangedAt = this.#now();
		// Otherwise it was considered lost, or the clock was set back, and the view is of the time before.
		if (this.#running === running) {
			this.#running = undefined;
			this.#learn(view ?? {});
		}
		return view !== undefined;
	}

	#learn(view: View): void {
		for (const [key, circuit] of Object.entries(view)) {
			const isOpen = circuit.openedAt > circuit.workedAt;
			const watched = isOpen ? this.#watch(key) : this.#watched.get(key);
			if (!watched) continue;
			watched.breaker.learn(circuit);
			this.#updateNotClosed(watched.breaker, this.#now());
		}
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
