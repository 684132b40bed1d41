/**
 * What this isolate knows of the engines: a breaker for each target, fed by its own calls and, seconds late, by those of
 * other isolates through the `Fleet` object.
 *
 * The object is told and asked in one call, in the background of some request, at most every `EXCHANGE_MS`. When it
 * cannot be reached the isolate goes on with its own view; what it had heard ends by itself, since every rest has an end.
 */
import { Breaker, type CircuitState } from "./breaker.ts";
import type { News, View } from "./fleet.ts";

/** The parts of a target that fail together. */
export interface Addressed {
	backend: string;
	url: string;
	model: string;
	/** The caller made up the model's name: all such names share one circuit, so that nobody can fill the memory. */
	anyModel?: true;
}

export interface Health {
	standing(target: Addressed): CircuitState;
	/** A call of a target starts. Whoever makes it says how it ends, once. */
	ask(target: Addressed): Trial;
	/** What this isolate has seen of each replica since its start, for metrics. */
	engines?(): EngineReport[];
}

export interface EngineReport {
	backend: string;
	/** Host of the engine's address; empty of the simulator. */
	replica: string;
	/** The engine's name of the model; `*` where callers choose it. */
	model: string;
	circuit: CircuitState;
	requests: number;
	failures: number;
	/** Calls that began to answer, and how long that took, together. */
	begun: number;
	waitedMs: number;
}

/** Of an address of the configuration, which holds no credentials. */
export const hostOf = (url: string): string => URL.parse(url)?.host ?? "";

/** One call of a target. What is said after its end is ignored. */
export interface Trial {
	/** The answer has begun. */
	begin(): void;
	/** It ended well. */
	succeed(): void;
	/** `restMs`: the engine asked to be left alone for so long. */
	fail(restMs?: number): void;
	/** Its caller left: nothing was learned. */
	leave(): void;
}

/** News wait so long, that more can go with them. */
const NEWS_MS = 500;
/** A view older than this is asked for again: well within the first rest of a circuit. */
const VIEW_MS = 2_000;
/** An exchange that has taken so long belongs to a request that is gone. */
const EXCHANGE_MS = 10_000;
const MAX_TARGETS = 2_000;

export interface HealthWorld {
	now(): number;
	waitUntil(promise: Promise<unknown>): void;
	/** Of the `Fleet` object; absent where there is none. */
	exchange?(news: News[]): Promise<View>;
}

interface Watched {
	target: Addressed;
	requests: number;
	/** All, also those that were told. */
	failed: number;
	begun: number;
	waitedMs: number;
	breaker: Breaker;
	/** Not told yet. */
	failures: number;
	failedAt: number;
	changed: boolean;
}

export class IsolateHealth implements Health {
	readonly #world: HealthWorld;
	readonly #watched = new Map<string, Watched>();
	#exchangedAt = Number.NEGATIVE_INFINITY;
	#exchangingSince = Number.NEGATIVE_INFINITY;
	#news = false;

	constructor(world: HealthWorld) {
		this.#world = world;
	}

	standing(target: Addressed): CircuitState {
		return this.#watched.get(keyOf(target))?.breaker.standing(this.#world.now()) ?? "closed";
	}

	ask(target: Addressed): Trial {
		const { now } = this.#world;
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
		breaker.ask(since);
		this.#exchange();

		let ended = false;
		const end = (learn: () => void) => {
			if (ended) return;
			ended = true;
			this.#note(watched, learn);
		};
		return {
			begin: () => {
				if (ended) return;
				noteBegin();
				this.#note(watched, () => breaker.begin(now(), since));
			},
			succeed: () =>
				end(() => {
					noteBegin();
					breaker.succeed(now(), since);
					watched.failures = 0;
				}),
			fail: (restMs) =>
				end(() => {
					breaker.fail(now(), since, restMs);
					watched.failures++;
					watched.failed++;
					watched.failedAt = now();
					watched.changed = true;
				}),
			leave: () => end(() => breaker.leave(since)),
		};
	}

	/** Good news are told only of a circuit that had been open: all others are healthy in everybody's eyes. */
	#note(watched: Watched, learn: () => void): void {
		const { breaker } = watched;
		const before = breaker.circuit;
		learn();
		const after = breaker.circuit;
		const reopened = after.openedAt !== before.openedAt;
		const closed =
			before.workedAt <= before.openedAt && after.workedAt > after.openedAt && after.openedAt > 0;
		watched.changed ||= reopened || closed;
		this.#news ||= watched.changed;
		this.#exchange();
	}

	engines(): EngineReport[] {
		const at = this.#world.now();
		return [...this.#watched.values()].map(
			({ breaker, target, requests, failed, begun, waitedMs }): EngineReport => ({
				backend: target.backend,
				replica: hostOf(target.url),
				model: target.anyModel ? "*" : target.model,
				circuit: breaker.standing(at),
				requests,
				failures: failed,
				begun,
				waitedMs,
			}),
		);
	}

	#watch(key: string, target: Addressed = addressedBy(key)): Watched {
		const known = this.#watched.get(key);
		// Last in the order of the map: the first are those not used for longest.
		if (known) this.#watched.delete(key);
		else if (this.#watched.size >= MAX_TARGETS) this.#forgetOne();
		const watched = known ?? {
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

	/** An open circuit is what is worth knowing: it goes only where all are. */
	#forgetOne(): void {
		const at = this.#world.now();
		let [forgotten] = this.#watched.keys();
		for (const [key, { breaker }] of this.#watched)
			if (breaker.standing(at) === "closed") {
				forgotten = key;
				break;
			}
		if (forgotten !== undefined) this.#watched.delete(forgotten);
	}

	#exchange(): void {
		const { exchange, now, waitUntil } = this.#world;
		const at = now();
		const age = at - this.#exchangedAt;
		const due = this.#news ? age >= NEWS_MS : age >= VIEW_MS;
		if (!exchange || !due || at - this.#exchangingSince < EXCHANGE_MS) return;
		this.#exchangingSince = at;
		const news = [...this.#watched]
			.filter(([, { changed }]) => changed)
			.map(
				([key, { breaker, failures, failedAt }]): News => ({
					key,
					failures,
					failedAt,
					circuit: breaker.circuit,
				}),
			);
		this.#news = false;
		for (const watched of this.#watched.values()) {
			watched.changed = false;
			watched.failures = 0;
		}
		// Whatever goes wrong with the object, be it at once, is no concern of the request's.
		const exchanged = (async () => exchange(news))();
		waitUntil(
			exchanged.then(
				(view) => this.#learn(view),
				// The next exchange has news of its own; this one's are a few failures that nobody else hears of.
				() => this.#over(),
			),
		);
	}

	#learn(view: View): void {
		this.#over();
		for (const [key, circuit] of Object.entries(view)) {
			const isOpen = circuit.openedAt > circuit.workedAt;
			(isOpen ? this.#watch(key) : this.#watched.get(key))?.breaker.learn(circuit);
		}
	}

	#over(): void {
		this.#exchangedAt = this.#world.now();
		this.#exchangingSince = Number.NEGATIVE_INFINITY;
	}
}

const keyOf = ({ backend, url, model, anyModel }: Addressed): string =>
	anyModel ? `${backend} ${url}` : `${backend} ${url} ${model}`;

/** Of a key that another isolate told. */
function addressedBy(key: string): Addressed {
	const [backend = "", url = "", ...model] = key.split(" ");
	return model.length > 0
		? { backend, url, model: model.join(" ") }
		: { backend, url, model: "*", anyModel: true };
}
