import type { LimitedWindow } from "../durable/gateway.ts";
import type { Window } from "../durable/windows.ts";
import { callObject } from "./call-object.ts";

interface LimitCalls {
	take(windows: readonly LimitedWindow[], now: number): Promise<number | undefined>;
	spend(windows: readonly Window[], cost: number, now: number): Promise<void>;
}

export interface GatewayName {
	account: string;
	gateway: string;
}

export interface GatewayLimitsServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	object(name: string): LimitCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	waitUntil(promise: Promise<unknown>): void;
}

/** The limits of gateways. One `Gateway` object of each gateway counts, so that requests of all isolates share a limit. */
export class GatewayLimits {
	readonly #services: GatewayLimitsServices;

	constructor(services: GatewayLimitsServices) {
		this.#services = services;
	}

	/** Counts a request, unless a window is full. Returns the index of that window. Throws 7009 if the object cannot be called. */
	take(gateway: GatewayName, windows: readonly LimitedWindow[]): Promise<number | undefined> {
		return callObject(() => this.#object(gateway).take(windows, this.#services.now()));
	}

	/** Adds the cost of a request, in US dollars, in the background. */
	spend(gateway: GatewayName, windows: readonly Window[], cost: number): void {
		if (windows.length === 0 || cost <= 0) return;
		this.#services.waitUntil(this.#object(gateway).spend(windows, cost, this.#services.now()));
	}

	#object({ account, gateway }: GatewayName): LimitCalls {
		return this.#services.object(`${account}/${gateway}`);
	}
}
