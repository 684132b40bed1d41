/** Routes whose handlers have the services of all rooms. */
import {
	type HttpCall as CallOf,
	defineRoutes as defineRoutesOf,
	type HttpRouteDeclaration as RouteDeclarationOf,
	type HttpRoute as RouteOf,
} from "../http/route.ts";
import type { AppServices } from "./services.ts";

export type AppCall = CallOf<AppServices>;
export type AppRoute = RouteOf<AppServices>;
export type AppRouteDeclaration = RouteDeclarationOf<AppServices>;

export const defineRoutes = defineRoutesOf<AppServices>;
