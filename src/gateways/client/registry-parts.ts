/**
 * An isolate's copies of what an account's registry object stores besides its gateways: aliases, deployed dynamic routes, and accesses of
 * providers. A copy is used for `FRESH_MS`: a change takes effect within that time, and at once in the isolate that made it.
 */
import { FreshCache } from "../../core/fresh-cache.ts";
import { AliasName, type AliasPool } from "../aliases/alias.ts";
import type { GatewayAliases } from "../durable/aliases.ts";
import type { DeployedRoute, DynamicRoutes } from "../durable/dynamic-routes.ts";
import type { ProviderAccess, ProviderAccessTables } from "../durable/provider-access.ts";
import { RouteName } from "../dynamic/elements.ts";
import { callObject } from "./call-object.ts";
import { FRESH_MS } from "./fresh-ms.ts";

/** The calls of a part of the object. */
type PartCalls<Part> = {
	[Name in Exclude<keyof Part, symbol | "deleteAll">]: Part[Name] extends (
		...args: infer Args
	) => infer Result
		? (...args: Args) => Promise<Result>
		: never;
};

export type AliasCalls = PartCalls<GatewayAliases>;
export type RouteCalls = PartCalls<DynamicRoutes>;
type AccessCalls = PartCalls<ProviderAccessTables>;

interface PartServices<Calls> {
	/** The part of an account, for reads that must be fresh. A stub belongs to the request that created it: each call needs a new one. */
	of(account: string): Calls;
	/** Milliseconds since the epoch. */
	now(): number;
}

class RegistryPart<Calls, Copy> {
	readonly of: (account: string) => Calls;
	readonly #copies: FreshCache<Copy>;

	constructor({ of, now }: PartServices<Calls>) {
		this.of = of;
		this.#copies = new FreshCache({ now, freshMs: FRESH_MS });
	}

	/** Throws if the object cannot be called. */
	protected read(
		[account, ...names]: readonly [account: string, ...names: string[]],
		load: (calls: Calls) => Promise<Copy>,
	): Promise<Copy> {
		return this.#copies.read(JSON.stringify([account, ...names]), () =>
			callObject(() => load(this.of(account))),
		);
	}

	/** The next request in this isolate reads the part again. */
	async change<Result>(account: string, call: (calls: Calls) => Promise<Result>): Promise<Result> {
		try {
			return await callObject(() => call(this.of(account)));
		} finally {
			this.#copies.clear();
		}
	}
}

export class AliasPools extends RegistryPart<AliasCalls, AliasPool | undefined> {
	/** `undefined`: the gateway has no such alias. */
	async find(account: string, gateway: string, name: string): Promise<AliasPool | undefined> {
		// Callers may name anything, and each copy has its key in memory.
		if (!AliasName().safeParse(name).success) return undefined;
		return this.read([account, gateway, name], (aliases) => aliases.get(gateway, name));
	}
}

interface RouteQuery {
	account: string;
	gateway: string;
	name: string;
}

export class DeployedRoutes extends RegistryPart<RouteCalls, DeployedRoute | undefined> {
	/** `undefined`: the gateway has no such route, or none of its versions is deployed. */
	async find({ account, gateway, name }: RouteQuery): Promise<DeployedRoute | undefined> {
		if (!RouteName().safeParse(name).success) return undefined;
		return this.read([account, gateway, name], (routes) => routes.deployed(gateway, name));
	}
}

/** Keys of providers, and custom providers. */
export class ProviderAccesses extends RegistryPart<AccessCalls, ProviderAccess> {
	find(account: string, gateway: string): Promise<ProviderAccess> {
		return this.read([account, gateway], (tables) => tables.access(gateway));
	}
}
