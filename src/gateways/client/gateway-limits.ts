import { type FlushServices, retryAfter } from "../../core/flush-schedule.ts";
import type { LimitedWindow } from "../durable/gateway.ts";
import type { Window } from "../durable/windows.ts";
import type { GatewaySettings } from "../settings.ts";
import { callObject } from "./call-object.ts";

interface LimitCalls {
	take(windows: readonly LimitedWindow[], now: number): Promise<number | undefined>;
	spend(windows: readonly Window[], cost: number, now: number): Promise<void>;
}

interface LimitedGateway {
	account: string;
	/** A gateway that is deleted and created again with the same id has limits of its own. */
	settings: Pick<GatewaySettings, "id" | "created_at">;
}

interface GatewayLimitsServices extends FlushServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	object(name: string): LimitCalls;
	/** A cost is lost, because the object cannot be called. */
	failed(cause: unknown): void;
}

/** The limits of gateways. One `Gateway` object of each gateway counts, so that requests of all isolates share a limit. */
export class GatewayLimits {
	readonly #services: GatewayLimitsServices;

	constructor(services: GatewayLimitsServices) {
		this.#services = services;
	}

	/** Counts a request, unless a window is full. Returns the index of that window. Throws 7009 if the object cannot be called. */
	take(gateway: LimitedGateway, windows: readonly LimitedWindow[]): Promise<number | undefined> {
		return callObject(() => this.#object(gateway).take(windowsOf(gateway, windows), this.#services.now()));
	}

	/**
	 * Adds the cost of a request, in US dollars, in the background, before what this request or a later one takes. A call that fails is
	 * repeated. If only its answer was lost, the cost counts twice. A call that hangs is not repeated.
	 */
	spend(gateway: LimitedGateway, windows: readonly Window[], cost: number): void {
		if (windows.length > 0 && cost > 0) this.#services.waitUntil(this.#spend(gateway, windows, cost));
	}

	async #spend(gateway: LimitedGateway, windows: readonly Window[], cost: number): Promise<void> {
		const { failed, now, wait } = this.#services;
		const spentAt = now();
		for (let tries = 1; ; tries++) {
			try {
				return await this.#object(gateway).spend(windowsOf(gateway, windows), cost, spentAt);
			} catch (cause) {
				const pause = retryAfter(tries);
				if (pause === undefined) {
					const name = `${gateway.account}/${gateway.settings.id}`;
					const message = `A cost of ${cost} US dollars is missing in the limits of the gateway ${name}`;
					return failed(new Error(message, { cause }));
				}
				await wait(pause);
			}
		}
	}

	#object({ account, settings }: LimitedGateway): LimitCalls {
		return this.#services.object(`${account}/${settings.id}`);
	}
}

const windowsOf = <T extends Window>({ settings }: LimitedGateway, windows: readonly T[]): T[] =>
	windows.map((window) => ({ ...window, key: `${settings.created_at} ${window.key}` }));
