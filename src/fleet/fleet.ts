/**
 * The `Fleet` object: what all isolates together know of the engines. One for the deployment.
 *
 * It keeps nothing on disk: a circuit rests for seconds, and every isolate has its own view, which goes on without this
 * object. No request waits for it (see `health.ts`).
 */
import { DurableObject } from "cloudflare:workers";
import { Breaker, type Circuit } from "./breaker.ts";

export const FLEET_NAME = "fleet";

/** What an isolate has seen of one target since it last told. */
export interface News {
	/** Names backend, address and model. Holds no secret. */
	key: string;
	/** In a row, the latest at `failedAt`. */
	failures: number;
	failedAt: number;
	circuit: Circuit;
}

export type View = Record<string, Circuit>;

/** Longer ago than any rest: nothing is told of such a circuit any more. */
const FORGET_MS = 5 * 60_000;
const MAX_TARGETS = 2_000;

/** Pure: the object's memory. */
export class FleetView {
	readonly #breakers = new Map<string, { breaker: Breaker; heardAt: number }>();

	exchange(news: readonly News[], now: number): View {
		for (const { key, circuit, failures, failedAt } of news.slice(0, MAX_TARGETS)) {
			const breaker = this.#breakers.get(key)?.breaker ?? new Breaker();
			// Last in the order of the map: the first are those not heard of for longest.
			this.#breakers.delete(key);
			this.#breakers.set(key, { breaker, heardAt: now });
			if (circuit.workedAt > breaker.circuit.openedAt) breaker.succeed(circuit.workedAt, circuit.workedAt);
			breaker.learn(circuit);
			if (failedAt > circuit.workedAt) for (let i = 0; i < failures; i++) breaker.fail(failedAt, failedAt);
		}
		this.#forget(now);
		return Object.fromEntries([...this.#breakers].map(([key, { breaker }]) => [key, breaker.circuit]));
	}

	#forget(now: number): void {
		for (const [key, { heardAt }] of this.#breakers)
			if (heardAt + FORGET_MS < now || this.#breakers.size > MAX_TARGETS) this.#breakers.delete(key);
	}
}

export class Fleet extends DurableObject {
	readonly #view = new FleetView();

	/** Takes an isolate's news, tells it everybody's. */
	exchange(news: News[]): View {
		return this.#view.exchange(news, Date.now());
	}
}
