/**
 * An isolate's copies of the dynamic routes that are deployed. A copy is used for `FRESH_MS`: a deployment takes effect within that
 * time, and at once in the isolate that made it.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import type { DeployedRoute, DynamicRoutes } from "../durable/dynamic-routes.ts";
import { RouteName } from "../dynamic/elements.ts";
import { callObject } from "./call-object.ts";
import { FRESH_MS } from "./fresh-ms.ts";

/** The calls of the object. */
export type RouteCalls = {
	[Name in Exclude<keyof DynamicRoutes, symbol | "deleteAll">]: (
		...args: Parameters<DynamicRoutes[Name]>
	) => Promise<ReturnType<DynamicRoutes[Name]>>;
};

interface DeployedRoutesServices {
	/** The routes of an account. A stub belongs to the request that created it: each call needs a new one. */
	routes(account: string): RouteCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

interface RouteQuery {
	account: string;
	gateway: string;
	name: string;
}

export class DeployedRoutes {
	readonly #services: DeployedRoutesServices;
	readonly #cached: FreshCache<DeployedRoute | undefined>;

	constructor(services: DeployedRoutesServices) {
		this.#services = services;
		this.#cached = new FreshCache({ now: services.now, freshMs: FRESH_MS });
	}

	/** `undefined`: the gateway has no such route, or none of its versions is deployed. Throws if the object cannot be called. */
	async find({ account, gateway, name }: RouteQuery): Promise<DeployedRoute | undefined> {
		// Callers may name anything, and each copy has its key in memory.
		if (!RouteName().safeParse(name).success) return undefined;
		const key = JSON.stringify([account, gateway, name]);
		return this.#cached.read(key, () =>
			callObject(() => this.#services.routes(account).deployed(gateway, name)),
		);
	}

	/** Changes the routes of an account. The next request in this isolate reads them again. */
	async change<T>(account: string, call: (routes: RouteCalls) => Promise<T>): Promise<T> {
		try {
			return await callObject(() => call(this.#services.routes(account)));
		} finally {
			this.#cached.clear();
		}
	}

	/** The stored routes of an account, for reads that must be fresh. */
	of(account: string): RouteCalls {
		return this.#services.routes(account);
	}
}
