/**
 * Mounts routes on an app. Every request passes the same steps: authentication, the handler, and, where one of them
 * throws, the failure in the format of the route. A path without a route, and another method of a path, are refused after
 * the credential was read and before the account's object is called.
 */
import type { Context, Env, Hono } from "hono";
import type { Ledgers } from "../accounts/admission.ts";
import { AiError, toAiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";
import {
	Call,
	type Entrance,
	type Identity,
	methodNotAllowed,
	type Route,
	type UnknownPaths,
} from "./route.ts";

export interface Authentication {
	/** Reads the credential and finds the account. Throws 401, 403 and 404. */
	identify(c: Context, entrance: Entrance): Promise<Identity>;
	/** Verifies the credential, except where a lazy route leaves that to admission. Throws `AiError`. */
	verify(request: Request, route: Route, identity: Identity): Promise<Identity>;
}

export interface RouteWorld {
	services: Services;
	authentication: Authentication;
	/** Runs before everything else. Throws `AiError`. */
	guard?(c: Context): void;
}

/** What the account answers about a caller, or that it cannot be reached. It verifies the token before a rate refuses it. */
const ABOUT_THE_CREDENTIAL: ReadonlySet<string> = new Set([
	"authentication",
	"forbidden",
	"ledgerUnavailable",
	"rateLimited",
]);

/** A request matches the first pattern of the list that its path fits, whatever the methods of that pattern. */
export function mountRoutes<E extends Env>(
	app: Hono<E>,
	{ routes, unknown }: { routes: readonly Route[]; unknown: readonly UnknownPaths[] },
	world: RouteWorld,
): void {
	for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
		for (const route of ofPath) app.on(route.method, path, (c) => answer(c, route, world));
		const [first] = ofPath;
		if (first) app.all(path, (c) => refuse(c, first, world));
	}
	for (const paths of unknown) app.all(paths.path, (c) => refuse(c, paths, world));
}

async function answer(c: Context, route: Route, world: RouteWorld): Promise<Response> {
	const { authentication, guard, services } = world;
	const id = services.uuid();
	let caller: Caller | undefined;
	let response: Response;
	try {
		guard?.(c);
		const identity = await authentication.verify(c.req.raw, route, await authentication.identify(c, route));
		caller = identity.caller;
		response = await route.handler(c, new Call(id, services, identity));
	} catch (thrown) {
		const error = route.lazy ? await disclosable(thrown, caller, services.ledgers) : toAiError(thrown);
		services.log(error, id);
		response = route.failure(error, id, c.req);
	}
	// Only of a reply to a verified caller.
	if (route.noStore && caller) response.headers.set("cache-control", "no-store");
	return response;
}

/** `entrance`: a route of the path, which has no such method, or paths without a route. */
async function refuse(c: Context, entrance: Route | UnknownPaths, world: RouteWorld): Promise<Response> {
	const { authentication, guard, services } = world;
	const id = services.uuid();
	try {
		guard?.(c);
		await authentication.identify(c, entrance);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		return entrance.failure(error, id, c.req);
	}
	if ("method" in entrance) return entrance.failure(methodNotAllowed(c), id, c.req);
	const { explain, explained, failure } = entrance;
	const reason = explain?.(c.req.path);
	const format = reason === undefined ? failure : (explained ?? failure);
	return format(new AiError("noRoute", reason), id, c.req);
}

/**
 * The error as the caller may see it. On a lazy route a request may fail before admission, which verifies the
 * credential: it is verified here then, so that a caller without a valid token learns only that.
 */
async function disclosable(thrown: unknown, caller: Caller | undefined, ledgers: Ledgers): Promise<AiError> {
	const error = toAiError(thrown);
	if (!caller || caller.verified || error.exchange?.credentialVerified || ABOUT_THE_CREDENTIAL.has(error.key))
		return error;
	try {
		await ledgers.of(caller.account).verify(caller.credential, "run");
		return error;
	} catch (refused) {
		return toAiError(refused);
	}
}
