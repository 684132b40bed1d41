/**
 * Mounts routes on an app. Every request passes the same steps: authentication, then the handler. If one of them throws,
 * the failure is rendered in the format of the route. For a path without a route, or another method of a path, the
 * credential is read before the refusal, and the account's object is not called.
 */
import type { Context, Env, Hono } from "hono";
import type { Ledgers } from "../accounts/admission.ts";
import { AiError, toAiError } from "../core/errors.ts";
import { lazy } from "../core/lazy.ts";
import type { Caller } from "../pipeline/request.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import { acceptedTokens } from "./accepted-tokens.ts";
import { releaseBody } from "./body.ts";
import type { FailureFormat } from "./failure-formats.ts";
import { describeAddress, nearAddresses } from "./near-address.ts";
import {
	type Endpoint,
	HttpCall,
	type HttpRoute,
	type Identity,
	methodNotAllowed,
	type UnknownPaths,
} from "./route.ts";
import type { HttpServices } from "./services.ts";

export interface Authentication {
	/** Reads the credential and finds the account. Throws 401, 403 and 404. */
	identify(c: Context, endpoint: Endpoint): Identity | Promise<Identity>;
	/** Verifies the credential, unless a lazy route leaves that to admission. Throws `AiError`. */
	verify(
		request: Request,
		route: Pick<HttpRoute, "lazy" | "permission">,
		identity: Identity,
	): Identity | Promise<Identity>;
}

interface MountContext<Services extends HttpServices> {
	services: Services;
	authentication: Authentication;
	/** Runs before everything else. Throws `AiError`. */
	guard?(c: Context): void;
}

/**
 * Failures of the call that verifies the credential. They are disclosed without a second call. `rateLimited` is one of
 * them, because the account's object verifies the token before it checks a rate.
 */
const VERIFICATION_FAILURES: ReadonlySet<string> = new Set([
	"authentication",
	"diskFull",
	"forbidden",
	"gatewayRequired",
	"ledgerUnavailable",
	"rateLimited",
]);

/** A request gets the first pattern of the list that its path matches, even if that pattern lacks its method. */
export function mountRoutes<E extends Env, Services extends HttpServices>(
	app: Hono<E>,
	{ routes, unknown }: { routes: readonly HttpRoute<Services>[]; unknown: readonly UnknownPaths[] },
	context: MountContext<Services>,
): void {
	for (const [path, routesOfPath] of Map.groupBy(routes, (route) => route.path)) {
		for (const route of routesOfPath) app.on(route.method, path, (c) => answer(c, route, context));
		const [first] = routesOfPath;
		if (first) app.all(path, (c) => refuse(c, first, context));
	}
	const nearAddress = lazy(() =>
		nearAddresses(routes.filter(({ hidden }) => !hidden).map(({ path }) => path)),
	);
	for (const { explain, ...paths } of unknown)
		app.all(paths.path, (c) =>
			refuse(
				c,
				{ ...paths, explain: (path) => describeAddress(nearAddress()(path)) ?? explain?.(path) },
				context,
			),
		);
}

async function answer<Services extends HttpServices>(
	c: Context,
	route: HttpRoute<Services>,
	context: MountContext<Services>,
): Promise<Response> {
	const { guard, services } = context;
	const id = services.uuid();
	let identity: Identity | undefined;
	let response: Response;
	try {
		guard?.(c);
		const authenticating = authenticated(c, route, context);
		identity = authenticating instanceof Promise ? await authenticating : authenticating;
		response = await route.handler(c, new HttpCall(id, services, identity));
	} catch (thrown) {
		const error = route.lazy
			? await disclosedError(thrown, identity?.caller, services.ledgers)
			: toAiError(thrown);
		services.log(error, id);
		response = route.failure(error, id, c.req);
	}
	if (identity?.bearer && response.status < 300) acceptedTokens.add(identity.bearer);
	releaseBody(c.req.raw);
	PulledStream.reportFailure(response.body, (failure) => services.log(toAiError(failure), id));
	// Only replies to a verified caller can contain the text of a token.
	if (route.noStore && identity?.caller) response.headers.set("cache-control", "no-store");
	return response;
}

/** Returns no promise if no object has to be called. */
function authenticated<Services extends HttpServices>(
	c: Context,
	route: HttpRoute<Services>,
	context: MountContext<Services>,
): Identity | Promise<Identity> {
	const { authentication } = context;
	const refused = (thrown: unknown) => unauthenticated(thrown, c, route, context);
	try {
		const identity = authentication.identify(c, route);
		const verified =
			identity instanceof Promise
				? identity.then((found) => authentication.verify(c.req.raw, route, found))
				: authentication.verify(c.req.raw, route, identity);
		return verified instanceof Promise ? verified.catch(refused) : verified;
	} catch (thrown) {
		return refused(thrown);
	}
}

async function unauthenticated<Services extends HttpServices>(
	thrown: unknown,
	c: Context,
	route: HttpRoute<Services>,
	{ services }: MountContext<Services>,
): Promise<Identity> {
	const { key } = toAiError(thrown);
	const caller =
		key === "authentication" || key === "forbidden" ? await route.unauthenticated?.(c, services) : undefined;
	if (!caller) throw thrown;
	return { caller, unauthenticated: true };
}

/** `endpoint`: a route with the same path and another method, or a pattern of paths without a route. */
async function refuse<Services extends HttpServices>(
	c: Context,
	endpoint: HttpRoute<Services> | UnknownPaths,
	context: MountContext<Services>,
): Promise<Response> {
	const { authentication, guard, services } = context;
	const id = services.uuid();
	try {
		guard?.(c);
		await authentication.identify(c, endpoint);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		return endpoint.failure(error, id, c.req);
	}
	const refused = (error: AiError, format: FailureFormat): Response => {
		services.log(error, id);
		return format(error, id, c.req);
	};
	if ("method" in endpoint) return refused(methodNotAllowed(c), endpoint.failure);
	const { explain, explained, failure } = endpoint;
	const reason = explain?.(c.req.path);
	return refused(new AiError("noRoute", reason), reason === undefined ? failure : (explained ?? failure));
}

/**
 * The error that may be disclosed to the caller. On a lazy route a request may fail before admission has verified the
 * credential. In that case it is verified here, so that a caller without a valid token gets only that refusal.
 */
async function disclosedError(
	thrown: unknown,
	caller: Caller | undefined,
	ledgers: Ledgers,
): Promise<AiError> {
	const error = toAiError(thrown);
	if (
		!caller ||
		caller.verified ||
		error.exchange?.credentialVerified ||
		VERIFICATION_FAILURES.has(error.key)
	)
		return error;
	try {
		await ledgers.of(caller.account).verify(caller.credential, "run");
		return error;
	} catch (refused) {
		return toAiError(refused);
	}
}
