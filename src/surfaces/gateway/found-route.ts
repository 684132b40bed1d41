/** A dynamic route or a version that a request names, or its failure. */
import { AiError } from "../../core/errors.ts";
import { idNotFound, notFound } from "../../core/not-found.ts";
import { type DynamicRoute, MAX_ROUTES, type RouteFailure } from "../../gateways/durable/dynamic-routes.ts";
import type { AppCall } from "../route.ts";
import { existingGateway } from "./management.ts";

/** As the path has them. */
export interface RouteIds {
	gateway: string;
	/** The id of the route. */
	route: string;
}

export const routesOf = ({ caller, services }: AppCall) => services.deployedRoutes.of(caller.account);

/** Throws if the route does not exist or the change was refused. */
export async function foundRoute(
	{ gateway, route: id }: RouteIds,
	call: AppCall,
	route: DynamicRoute | RouteFailure | undefined,
): Promise<DynamicRoute> {
	if (typeof route === "object") return route;
	if (route === "nameTaken")
		throw new AiError("invalidRequest", "name: another route of the gateway has this name");
	if (route === "tooMany")
		throw new AiError("invalidRequest", `A gateway may have ${MAX_ROUTES} dynamic routes`);
	const existing = await routesOf(call).list(await existingGateway(gateway, call));
	const named = existing.map((one) => ({ id: one.id, names: [one.name] }));
	throw idNotFound("Route", id, named);
}

export const versionNotFound = (id: string): AiError => notFound("Version", id);
