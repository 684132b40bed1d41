/**
 * An isolate's client of the gateways' objects. It keeps the settings of a gateway for `FRESH_MS`: a change in this isolate takes
 * effect at once, a change in another isolate within that time.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import type { Hint } from "../../core/hints.ts";
import type { GatewayPage, GatewayRegistry, RegistryResult } from "../durable/registry.ts";
import { ALL_GATEWAYS } from "../gateway-bounds.ts";
import { DEFAULT_SETTINGS, GatewayId, type GatewaySettings, type GatewayUpdate } from "../settings.ts";
import { callObject } from "./call-object.ts";
import { FRESH_MS } from "./fresh-ms.ts";

/** Calls of the account's `GatewayRegistry` object. */
export interface RegistryCalls {
	get(id: string): Promise<GatewaySettings | undefined>;
	list(query: Parameters<GatewayRegistry["list"]>[0]): Promise<GatewayPage>;
	create(id: string, settings: GatewayUpdate): Promise<RegistryResult>;
	update(id: string, settings: GatewayUpdate): Promise<RegistryResult>;
	delete(id: string): Promise<RegistryResult>;
	serve(id: string): Promise<GatewaySettings | undefined>;
	names(): Promise<string[]>;
}

interface GatewaysServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	registry(account: string): RegistryCalls;
	/** Throws if the account may not open the object of a gateway (`account/gateway`), which a request calls until its end. */
	requireObject?(name: string): void;
	/** Milliseconds since the epoch. */
	now(): number;
	/** Every gateway exists, with default settings: a gateway for local development. */
	open?: boolean;
	/** Absent: the gateway is not for development. */
	hint?: Hint;
}

export class Gateways {
	readonly #services: GatewaysServices;
	readonly #cached: FreshCache<GatewaySettings | undefined>;
	readonly #names: FreshCache<string[]>;

	constructor(services: GatewaysServices) {
		this.#services = services;
		this.#cached = new FreshCache({ now: services.now, freshMs: FRESH_MS });
		this.#names = new FreshCache({ now: services.now, freshMs: FRESH_MS });
	}

	/**
	 * `undefined`: the account has no such gateway. Throws 7009 if the object cannot be called, and 3040 if the account has too many open
	 * objects.
	 */
	async find(account: string, id: string): Promise<GatewaySettings | undefined> {
		const settings = await this.#find(account, id);
		if (settings) this.#services.requireObject?.(`${account}/${id}`);
		return settings;
	}

	async #find(account: string, id: string): Promise<GatewaySettings | undefined> {
		const key = `${account}/${id}`;
		const known = this.#cached.get(key);
		if (known) return known;
		if (!GatewayId().safeParse(id).success) return undefined;
		const { hint, open, registry } = this.#services;
		return this.#cached.read(key, async () => {
			const settings = await callObject(() =>
				open ? registry(account).serve(id) : registry(account).get(id),
			);
			if (settings || !open) return settings;
			// The same request is refused where gateways must exist.
			hint?.(`There is no gateway "${id}"`, [CONSEQUENCE]);
			return openSettings(id);
		});
	}

	/**
	 * The names of the account's gateways for a message, without those that are only served. None if the object cannot be called. Callers may
	 * send many wrong names, so they are kept for `FRESH_MS`.
	 */
	knownNames(account: string): Promise<string[]> {
		const stored = { offset: 0, limit: ALL_GATEWAYS };
		const names = async () => (await this.registry(account).list(stored)).gateways.map(({ id }) => id);
		return this.#names.read(account, names).catch(() => []);
	}

	/** The object of the account's gateways, for reads that must be fresh. */
	registry(account: string): Pick<RegistryCalls, "get" | "list" | "names"> {
		const { registry } = this.#services;
		return {
			names: () => callObject(() => registry(account).names()),
			get: (id) => callObject(() => registry(account).get(id)),
			list: (query) => callObject(() => registry(account).list(query)),
		};
	}

	/** Changes a gateway. The next request in this isolate reads the new settings. */
	async change<T>(account: string, id: string, call: (registry: RegistryCalls) => Promise<T>): Promise<T> {
		try {
			return await callObject(() => call(this.#services.registry(account)));
		} finally {
			this.#cached.delete(`${account}/${id}`);
		}
	}
}

const CONSEQUENCE =
	"its requests run with default settings here. Elsewhere they get 400 (2001) until POST …/ai-gateway/gateways creates it";

const openSettings = (id: string): GatewaySettings => ({
	...DEFAULT_SETTINGS,
	authentication: false,
	id,
	created_at: new Date(0).toISOString(),
	modified_at: new Date(0).toISOString(),
	is_default: false,
});
