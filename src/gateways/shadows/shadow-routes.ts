/** The shadows of the routes: the setting `shadow`. */
import type { ResolvedRoute, RouteSettings } from "../../pipeline/plan.ts";
import { type Route, RouteTable } from "../../pipeline/route.ts";

/** A second target of a route, which receives a part of its requests after their answers. No caller receives its answers. */
export interface Shadow {
	name: string;
	/** The part of the requests, from above 0 to 1. */
	share: number;
	/** With one target, which is called once. */
	route: Route & { settings: RouteSettings };
}

export interface FoundShadow extends Shadow {
	routed: ResolvedRoute;
}

export class ShadowRoutes {
	readonly shadows: readonly Shadow[];
	/** The settings of a route are the same object in its resolved routes. */
	readonly #bySettings: ReadonlyMap<RouteSettings, Shadow>;
	/** Of all routes, because one without a shadow may have precedence. */
	readonly #table: RouteTable;

	constructor(shadows: readonly Shadow[] = [], routes: readonly Pick<Route, "pattern">[] = []) {
		this.shadows = shadows;
		this.#bySettings = new Map(shadows.map((shadow) => [shadow.route.settings, shadow]));
		const byPattern = new Map(shadows.map(({ route }) => [route.pattern, route]));
		this.#table = new RouteTable(
			routes.map(({ pattern }) => byPattern.get(pattern) ?? { pattern, targets: [] }),
		);
	}

	/** The shadow of the model's route. */
	find(modelId: string): FoundShadow | undefined {
		if (this.shadows.length === 0) return undefined;
		const routed = this.#table.find(modelId);
		const shadow = routed?.settings && this.#bySettings.get(routed.settings);
		return routed && shadow && { ...shadow, routed };
	}
}

const SOURCE = "shadow:";

/** The source of the comparisons of a shadow. Those of a replay have its id, a UUID. */
export const sourceOfShadow = (name: string): string => SOURCE + name;

/** The name of the shadow. */
export const shadowOfSource = (source: string): string => source.slice(SOURCE.length);
