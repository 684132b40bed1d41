/** Calls a service of the operator that starts replicas of a pool which has none (`pool.wake`). */
import { hasPassed } from "../core/elapsed.ts";

export interface WakeSettings {
	/** Receives a POST with `{"backend": "…"}`. */
	url: string;
	/** Milliseconds between two calls. */
	cooldownMs: number;
	/** Milliseconds that a request waits for a replica. 0: it is refused at once. */
	waitMs: number;
}

interface WakeServices {
	now(): number;
	waitUntil(work: Promise<unknown>): void;
	post(url: string, body: object): Promise<unknown>;
}

export class WakeCalls {
	readonly #services: WakeServices;
	/** By backend: time of the latest call. */
	readonly #calledAt = new Map<string, number>();

	constructor(services: WakeServices) {
		this.#services = services;
	}

	/**
	 * Calls the service, unless this isolate has called it within the cooldown, and then `woken`. A failure of either is ignored: the next
	 * call comes later.
	 */
	call(backend: string, { url, cooldownMs }: WakeSettings, woken?: () => Promise<unknown>): void {
		const { now, post, waitUntil } = this.#services;
		const at = now();
		if (!hasPassed(cooldownMs, this.#calledAt.get(backend), at)) return;
		this.#calledAt.set(backend, at);
		waitUntil(
			post(url, { backend })
				.then(woken)
				.catch(() => {}),
		);
	}
}
