/**
 * An isolate's client of the gateways' objects. It keeps the settings of a gateway for `FRESH_MS`: a change in this isolate takes
 * effect at once, a change in another isolate within that time.
 */
import type { GatewayPage, GatewayRegistry, RegistryResult } from "../durable/registry.ts";
import { DEFAULT_SETTINGS, GatewayId, type GatewaySettings, type GatewayUpdate } from "../settings.ts";

export const FRESH_MS = 5_000;
const MAX_CACHED = 1_000;

/** Calls of the account's `GatewayRegistry` object. */
export interface RegistryCalls {
	get(id: string): Promise<GatewaySettings | undefined>;
	list(query: Parameters<GatewayRegistry["list"]>[0]): Promise<GatewayPage>;
	create(id: string, settings: GatewayUpdate): Promise<RegistryResult>;
	update(id: string, settings: GatewayUpdate): Promise<RegistryResult>;
	delete(id: string): Promise<RegistryResult>;
}

export interface GatewaysServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	registry(account: string): RegistryCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	/** Every gateway exists, with default settings: a gateway for local development. */
	open?: boolean;
}

interface Cached {
	settings: GatewaySettings | undefined;
	at: number;
}

export class Gateways {
	readonly #services: GatewaysServices;
	readonly #cached = new Map<string, Cached>();

	constructor(services: GatewaysServices) {
		this.#services = services;
	}

	/** `undefined`: the account has no such gateway. Throws if the object cannot be called. */
	async find(account: string, id: string): Promise<GatewaySettings | undefined> {
		if (!GatewayId.safeParse(id).success) return undefined;
		const key = `${account}/${id}`;
		const { now, open } = this.#services;
		const cached = this.#cached.get(key);
		// A clock that was set back also makes the settings stale.
		if (cached && Math.abs(now() - cached.at) < FRESH_MS) return cached.settings;
		const stored = await this.#services.registry(account).get(id);
		const settings = stored ?? (open ? openSettings(id) : undefined);
		if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
		this.#cached.set(key, { settings, at: now() });
		return settings;
	}

	/** The object of the account's gateways, for reads that must be fresh. */
	registry(account: string): RegistryCalls {
		return this.#services.registry(account);
	}

	/** Changes a gateway. The next request in this isolate reads the new settings. */
	async change<T>(account: string, id: string, call: (registry: RegistryCalls) => Promise<T>): Promise<T> {
		try {
			return await call(this.#services.registry(account));
		} finally {
			this.#cached.delete(`${account}/${id}`);
		}
	}
}

const openSettings = (id: string): GatewaySettings => ({
	...DEFAULT_SETTINGS,
	authentication: false,
	id,
	created_at: new Date(0).toISOString(),
	modified_at: new Date(0).toISOString(),
	is_default: false,
});
