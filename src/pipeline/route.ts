/**
 * The routes of the configuration, and the plan that a route makes for one request: which targets may answer, in the order to try
 * them. Randomness, the session and the health of the engines are arguments. A backend with several replicas is one target, whose
 * pool chooses a replica later.
 *
 * A target whose circuit is open comes last, but is not left out: trying it is better than failing without a try.
 */
import type { Timeouts } from "../backends/backend.ts";
import { servesOwnModels } from "../backends/own-models.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { AiError } from "../core/errors.ts";
import { present } from "../core/present.ts";
import type { Health } from "../fleet/health.ts";
import { chargesFor, isOwnEngine } from "../providers/billing.ts";
import {
	type ConfiguredBackend,
	type Continuation,
	DEFAULT_RETRIES,
	isPooled,
	type Plan,
	type PlanTarget,
	type ResolvedRoute,
	type RouteList,
	type RouteSettings,
	type RouteSummary,
	type Routing,
	type WeightedTarget,
} from "./plan.ts";
import type { PipelineServices } from "./services.ts";
import { chooseAt, rankFor } from "./weighted-choice.ts";

export interface RouteTarget {
	backend: ConfiguredBackend;
	/** The engine's name of the model. Absent: the name that the caller sent. */
	model?: string;
	/** Converts a model id to the engine's name, for a route that matches many models. */
	rename?(modelId: string): string;
	weight?: number;
	continues?: Continuation | false;
	loras?: readonly string[];
	weights?: string;
	/** The weights were not on this machine when the configuration was written. */
	weightsAbsent?: true;
	headers: Record<string, string>;
	/** Timeouts of the route or the target. They have precedence over the backend's. */
	timeouts?: Partial<Timeouts>;
}

export interface Route {
	/** A model id, in which `*` matches any text, including slashes and nothing. */
	pattern: string;
	targets: RouteTarget[];
	settings?: RouteSettings;
	strict?: boolean;
}

/** Model ids in the cache. Callers can invent ids, so the cache is cleared when it is full. */
const MAX_CACHED = 1_000;
/** Longer ids are not cached. */
const MAX_CACHED_CHARACTERS = 256;

/** Precedence: an exact id, then the pattern with the most literal characters, then the first one in the configuration. */
export class RouteTable implements Routing, RouteList {
	/** In the order of the configuration. */
	readonly routes: readonly Route[];
	readonly defaultBackend: ConfiguredBackend | undefined;
	readonly #exact: ReadonlyMap<string, Route>;
	readonly #patterns: readonly Route[];
	/** Cache by model id. */
	readonly #found = new BoundedMap<string, NonNullable<ReturnType<Routing["find"]>>>(MAX_CACHED);

	constructor(routes: readonly Route[], defaultBackend?: ConfiguredBackend) {
		this.routes = routes;
		this.defaultBackend = defaultBackend;
		this.#exact = new Map(routes.filter(isExact).map((route) => [route.pattern, route]));
		this.#patterns = routes
			.filter((route) => !isExact(route))
			.sort((a, b) => literalLength(b.pattern) - literalLength(a.pattern));
	}

	find(modelId: string): ReturnType<Routing["find"]> {
		const known = this.#found.get(modelId);
		if (known) return known;
		const found = this.#find(modelId);
		if (!found || modelId.length > MAX_CACHED_CHARACTERS) return found;
		this.#found.set(modelId, found);
		return found;
	}

	list(): RouteSummary[] {
		const { defaultBackend, routes } = this;
		return [
			...routes.map(({ pattern, targets }) => ({ pattern, targets: targets.map(targetSummary) })),
			...(defaultBackend ? [{ pattern: "*", targets: [targetSummary({ backend: defaultBackend })] }] : []),
		];
	}

	#find(modelId: string): ReturnType<Routing["find"]> {
		const route = this.#exact.get(modelId) ?? this.#patterns.find(({ pattern }) => matches(pattern, modelId));
		if (route)
			return {
				...resolvedTargets(route.targets, modelId, isExact(route)),
				named: true,
				strict: route.strict ?? isProduct(route.targets),
				...(route.settings && { settings: route.settings }),
			};
		if (!this.defaultBackend) return undefined;
		const target: RouteTarget = { backend: this.defaultBackend, headers: {} };
		return { ...resolvedTargets([target], modelId, false), named: false, strict: isProduct([target]) };
	}
}

/** The targets for a model, and what they have in common: it is decided once for all requests. `exact`: the route names exactly this model. */
function resolvedTargets(
	targets: readonly RouteTarget[],
	modelId: string,
	exact: boolean,
): Pick<ResolvedRoute, "billed" | "isSimulated" | "ownModels" | "targets"> {
	const weighted = targets.map((target) => weightedTarget(target, modelId, exact));
	const ownModels = weighted.some(({ kind, model, urls }) =>
		urls.some((url) => servesOwnModels({ kind, model, url })),
	);
	return {
		billed: isBilled(targets, modelId),
		targets: weighted,
		...(ownModels && { ownModels }),
		...(weighted.every(({ kind }) => kind === "simulator") && { isSimulated: true }),
	};
}

/** The simulator represents Workers AI: what it accepts must work after `wrangler deploy`. */
const isProduct = (targets: readonly RouteTarget[]): boolean =>
	targets.every(({ backend }) => !isOwnEngine(backend));

const isBilled = (targets: readonly RouteTarget[], modelId: string): boolean =>
	targets.some(({ backend }) => isOwnEngine(backend) || chargesFor(backend, modelId));

const weightedTarget = (
	{ backend, model, rename, weight, continues, loras, weights, headers, timeouts }: RouteTarget,
	modelId: string,
	exact: boolean,
): WeightedTarget => ({
	...backend,
	model: model ?? rename?.(modelId) ?? modelId,
	headers: { ...backend.headers, ...headers },
	timeouts: { ...backend.timeouts, ...timeouts },
	...present({ weight, continues, loras, weights }),
	...(model === undefined && !exact && { anyModel: true }),
});

const targetSummary = ({
	backend: { backend, urls, pool },
	model,
	weight,
	weights,
}: Pick<RouteTarget, "backend" | "model" | "weight" | "weights">): RouteSummary["targets"][number] => ({
	backend,
	urls,
	...present({ pool, model, weight, weights }),
});

export const isExact = ({ pattern }: Route): boolean => !pattern.includes("*");

const literalLength = (pattern: string): number => pattern.replaceAll("*", "").length;

/** Linear in the length of the id. A regular expression for several `*` could backtrack exponentially. */
export function matches(pattern: string, id: string): boolean {
	const [first = "", ...rest] = pattern.split("*");
	const last = rest.pop();
	if (last === undefined) return pattern === id;
	if (!id.startsWith(first) || !id.endsWith(last) || id.length < first.length + last.length) return false;
	const end = id.length - last.length;
	let at = first.length;
	for (const part of rest) {
		const found = id.indexOf(part, at);
		if (found < 0 || found + part.length > end) return false;
		at = found + part.length;
	}
	return true;
}

export interface RouteServices {
	catalog: Pick<PipelineServices["catalog"], "find">;
	health: Pick<Health, "circuit">;
	pools: Pick<PipelineServices["pools"], "of">;
	/** 0 to 1. */
	random(): number;
}

export function route(
	modelId: string,
	routed: ResolvedRoute | undefined,
	services: RouteServices,
	session?: string,
): Plan {
	if (!routed)
		throw new AiError("noSuchModel", `No such model ${modelId} or task: nothing serves it here (see ROUTES)`);
	const [only, ...more] = routed.targets;
	if (!only || more.length > 0) return newPlan(modelId, routed, services, session);
	const known = plans.get(routed);
	if (known?.modelId === modelId && isCurrent(known.plan, only, services)) return known.plan;
	const plan = newPlan(modelId, routed, services);
	if (isCurrent(plan, only, services)) plans.set(routed, { modelId, plan });
	return plan;
}

interface KnownPlan {
	modelId: string;
	plan: Plan;
}

/**
 * The plans of routes to one backend. They do not depend on the request while the circuit of its address is closed, or its pool
 * is the same. What is made for a target is then made once for many requests.
 */
const plans = new WeakMap<ResolvedRoute, KnownPlan>();

function isCurrent({ targets: [target] }: Plan, only: WeightedTarget, services: RouteServices): boolean {
	const pool = services.pools.of(only);
	if (isPooled(target)) return target.pool === pool;
	return !pool && target.circuit === "closed" && services.health.circuit(target) === "closed";
}

function newPlan(
	modelId: string,
	routed: ResolvedRoute,
	{ catalog, health, pools, random }: RouteServices,
	session?: string,
): Plan {
	const { sticky, retries = DEFAULT_RETRIES, ...settings }: RouteSettings = routed.settings ?? {};
	const isKnown = catalog.find(modelId) !== undefined;
	const available: PlanTarget[] = [];
	const open: PlanTarget[] = [];
	for (const weighted of orderByWeight(routed.targets, random, sticky && session)) {
		const { urls, weight: _, anyModel, pool: __, ...fields } = weighted;
		const shared = { ...fields, ...(anyModel && !isKnown && { anyModel }) };
		const pool = pools.of(weighted);
		if (pool) {
			available.push({ ...shared, pool });
			continue;
		}
		const target = { ...shared, url: urls[0] };
		const circuit = health.circuit(target);
		(circuit === "open" ? open : available).push({ ...target, circuit });
	}
	const [first, ...others] = open.length === 0 ? available : [...available, ...open];
	if (!first) throw new AiError("noSuchModel", `No such model ${modelId} or task: its route is empty`);
	return { targets: [first, ...others], retries, ...settings };
}

/** Weighted targets share the first place by their weights. Targets without a weight are fallbacks, in order. */
function orderByWeight(targets: WeightedTarget[], random: () => number, session?: string): WeightedTarget[] {
	if (targets.length < 2) return targets;
	const shares = targets.flatMap((target) => {
		const { backend, model, weight } = target;
		return weight === undefined ? [] : [{ name: `${backend} ${model}`, weight, target }];
	});
	const drawn = session === undefined ? chooseAt(shares, random()) : rankFor(session, shares)[0];
	if (!drawn) return targets;
	return [drawn.target, ...targets.filter((target) => target !== drawn.target)];
}
