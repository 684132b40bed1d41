/**
 * An isolate's copies of the dynamic routes that are deployed. A copy is used for `FRESH_MS`: a deployment takes effect within that
 * time, and at once in the isolate that made it.
 */
import type { DynamicRoutes } from "../durable/dynamic-routes.ts";
import type { Element } from "../dynamic/elements.ts";

export const FRESH_MS = 5_000;
const MAX_CACHED = 1_000;

/** The calls of the object. */
export type RouteCalls = {
	[Name in Exclude<keyof DynamicRoutes, symbol | "deleteAll">]: (
		...args: Parameters<DynamicRoutes[Name]>
	) => Promise<ReturnType<DynamicRoutes[Name]>>;
};

export interface DeployedRoutesServices {
	/** The routes of an account. A stub belongs to the request that created it: each call needs a new one. */
	routes(account: string): RouteCalls;
	/** Milliseconds since the epoch. */
	now(): number;
}

interface RouteName {
	account: string;
	gateway: string;
	name: string;
}

export class DeployedRoutes {
	readonly #services: DeployedRoutesServices;
	readonly #cached = new Map<string, { elements: Element[] | undefined; at: number }>();

	constructor(services: DeployedRoutesServices) {
		this.#services = services;
	}

	/** `undefined`: the gateway has no such route, or none of its versions is deployed. Throws if the object cannot be called. */
	async find({ account, gateway, name }: RouteName): Promise<Element[] | undefined> {
		const key = JSON.stringify([account, gateway, name]);
		const { now, routes } = this.#services;
		const cached = this.#cached.get(key);
		// A clock that was set back also makes the copy stale.
		if (cached && Math.abs(now() - cached.at) < FRESH_MS) return cached.elements;
		const elements = await routes(account).deployed(gateway, name);
		if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
		this.#cached.set(key, { elements, at: now() });
		return elements;
	}

	/** Changes the routes of an account. The next request in this isolate reads them again. */
	async change<T>(account: string, call: (routes: RouteCalls) => Promise<T>): Promise<T> {
		try {
			return await call(this.#services.routes(account));
		} finally {
			this.#cached.clear();
		}
	}

	/** The stored routes of an account, for reads that must be fresh. */
	of(account: string): RouteCalls {
		return this.#services.routes(account);
	}
}
