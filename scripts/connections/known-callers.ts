/**
 * The callers whose credential was accepted lately. Each has a part of the runtime's time of its own (`pace.ts`); all others share that of
 * their address. A stranger can invent credentials, but not accepted ones.
 */
import type { PacedCaller } from "./pace.ts";

/** The oldest is forgotten first. */
const MAX_CALLERS = 10_000;
/** Compared with an accepted credential. */
const WEIGHT_OF_STRANGERS = 0.2;

/** Headers with a credential of the gateway, or of a provider. */
export const CREDENTIALS = [
	"cf-aig-authorization",
	"authorization",
	"x-api-key",
	"api-key",
	"x-goog-api-key",
] as const;

const SCHEME = /^(?:bearer|token|key) +/i;

/** Without its scheme, which has many forms with one meaning: a caller with one credential is one caller. `undefined`: the request has none. */
export function credentialOf(headers: ReadonlyMap<string, string>): string | undefined {
	for (const name of CREDENTIALS) {
		const value = headers.get(name);
		if (value) return value.replace(SCHEME, "");
	}
	return undefined;
}

export class KnownCallers {
	readonly #known = new Map<string, PacedCaller>();

	stranger(address: string): PacedCaller {
		return { key: address, weight: WEIGHT_OF_STRANGERS };
	}

	of(address: string, credential: string | undefined): PacedCaller {
		return this.#known.get(keyOf(address, credential)) ?? this.stranger(address);
	}

	/** The gateway has answered a request of the caller with this status. */
	answered(address: string, credential: string | undefined, status: number): void {
		if (credential === undefined) return;
		const key = keyOf(address, credential);
		if (status === 401) this.#known.delete(key);
		else if (status < 300 && !this.#known.has(key)) {
			const [oldest] = this.#known.keys();
			if (this.#known.size >= MAX_CALLERS && oldest !== undefined) this.#known.delete(oldest);
			this.#known.set(key, { key, weight: 1 });
		}
	}
}

const keyOf = (address: string, credential = ""): string => `${address} ${credential}`;
