/** Routes whose handlers have the services of all rooms. */
import {
	type HttpCall as CallOf,
	defineRoutes as defineRoutesOf,
	type HttpRouteDeclaration as RouteDeclarationOf,
	type HttpRoute as RouteOf,
} from "../http/route.ts";
import type { AppServices } from "./services.ts";

export type Call = CallOf<AppServices>;
export type Route = RouteOf<AppServices>;
export type RouteDeclaration = RouteDeclarationOf<AppServices>;

export const defineRoutes = defineRoutesOf<AppServices>;
