/**
 * Routes of the HTTP surfaces, each declared once: its method and path, its permission, the locations of its credential,
 * the format of its failures, its handler, and the summary and schemas of an OpenAPI document. `mountRoutes` mounts them.
 */
import type { Context } from "hono";
import type { z } from "zod";
import type { Permission } from "../accounts/admission.ts";
import { AiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import { AUTHORIZATION, type Bearer, type CredentialLocation } from "./credentials.ts";
import { type FailureFormat, v4Failure } from "./failure-formats.ts";
import type { HttpServices } from "./services.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/**
 * `none`: no credential. `token`: any valid token of the account; the handler's own call of the account's object verifies
 * it. `operator`: the operator's credential.
 */
export type RoutePermission = Permission | "none" | "token" | "operator";

/** `path`: the parameter `:account`. `token`: the account of the token. `optional`: the same, but absent for the operator. */
type AccountSource = "path" | "token" | "optional";

export interface Payload {
	/** A media type. */
	type: string;
	/**
	 * `by-model`: depends on the model; `GET …/ai/models/schema?model=` shows it. A function: only the OpenAPI document needs the
	 * schema. Absent: there is no schema.
	 */
	schema?: z.ZodType | "by-model" | (() => z.ZodType);
	/** A valid body, for the OpenAPI document. */
	example?: unknown;
}

/** The input or output of a model. */
export const BY_MODEL: Payload = { type: "application/json", schema: "by-model" };

/** Properties of a path that authentication and failures use. Paths without a route also have them. */
export interface Endpoint {
	/** Hono's pattern, from the root. */
	path: string;
	permission: RoutePermission;
	account: AccountSource;
	/** The first location that a request has is used. */
	credentials: readonly CredentialLocation[];
	failure: FailureFormat;
}

/** Handlers keep no state between requests. */
type HttpHandler<Services extends HttpServices> = (
	c: Context,
	call: HttpCall<Services>,
) => Response | Promise<Response>;

export interface HttpRoute<Services extends HttpServices = HttpServices> extends Endpoint {
	method: Method;
	/** One line of an OpenAPI document. */
	summary: string;
	tag: string;
	/**
	 * The handler's own call of the account's object verifies the credential: the pipeline's admission, or `countRequest`.
	 * Until then only errors about the credential are disclosed.
	 */
	lazy?: true;
	/** Not in the OpenAPI document: the route only refuses requests, or the gateway's own clients call it. */
	hidden?: true;
	/** The answer is a websocket. */
	upgrades?: true;
	/** Caches must not store the reply, because it may contain the text of a token. */
	noStore?: true;
	/** Query parameters. Their defaults may depend on the day. */
	query?: z.ZodType | ((today: string) => z.ZodType);
	/** The request body. Absent: the route takes none. */
	input?: Payload;
	/** The status of a success. Absent: 200. */
	status?: 200 | 201;
	/** Absent: JSON without a schema. A name: of a payload in src/surfaces/all-answers.ts. */
	output?: Payload | string;
	/** The caller of a request whose credential is missing or invalid. Absent, or `undefined`: the request is refused. */
	unauthenticated?(c: Context, services: Services): Promise<Caller | undefined>;
	handler: HttpHandler<Services>;
}

/** A path prefix at which every route of a group is mounted. */
export interface Base {
	path: string;
	/** For a base whose path has no `:account`. */
	account?: Exclude<AccountSource, "path">;
	/** Tried before those of the group. */
	credentials?: readonly CredentialLocation[];
}

/** Common properties of the routes of a surface. */
export interface RouteGroup {
	bases: readonly Base[];
	tag: string;
	/** Absent: the v4 envelope. */
	failure?: FailureFormat;
	/** Absent: `Authorization`. */
	credentials?: readonly CredentialLocation[];
	noStore?: true;
}

/** A route without the properties of its group. `path`: relative to the base. */
export interface HttpRouteDeclaration<Services extends HttpServices = HttpServices>
	extends Omit<HttpRoute<Services>, "account" | "credentials" | "failure" | "method" | "tag"> {
	method: Method | readonly Method[];
	failure?: FailureFormat;
	/** Instead of those of the group. */
	credentials?: readonly CredentialLocation[];
}

const endpointAt = (
	{ path: basePath, account = "optional", credentials: first = [] }: Base,
	path: string,
	{ failure = v4Failure, credentials = [AUTHORIZATION] }: Pick<RouteGroup, "failure" | "credentials">,
): Omit<Endpoint, "permission"> => {
	const full = `${basePath}${path}`;
	return {
		path: full,
		account: full.includes("/:account") ? "path" : account,
		credentials: [...first, ...credentials],
		failure,
	};
};

/**
 * Makes one route of each declaration for every base and method.
 *
 * @example
 * ```ts
 * // test/extending/language-routes.ts
 * export const languageRoutes: readonly HttpRoute[] = defineRoutes({ bases: [AI], tag: "Languages" }, [
 * 	{
 * 		method: "GET",
 * 		path: "/languages",
 * 		summary: "Lists the languages that are detected",
 * 		permission: "read",
 * 		output: enveloped(z.array(z.string())),
 * 		handler: () => envelope(["en", "fr"]),
 * 	},
 * ]);
 * ```
 */
export const defineRoutes = <Services extends HttpServices>(
	group: RouteGroup,
	declarations: readonly HttpRouteDeclaration<Services>[],
): HttpRoute<Services>[] =>
	group.bases.flatMap((base) =>
		declarations.flatMap((declaration) =>
			[declaration.method].flat().map(
				(method): HttpRoute<Services> => ({
					tag: group.tag,
					...(group.noStore && { noStore: true }),
					...declaration,
					...endpointAt(base, declaration.path, { ...group, ...declaration }),
					method,
				}),
			),
		),
	);

/** A pattern of paths without a route, with the format of their refusal. */
export interface UnknownPaths extends Endpoint {
	/** The description of the refusal. `undefined`: the default description of `noRoute`. */
	explain?(path: string): string | undefined;
	/** The format of a refusal with a description from `explain`. */
	explained?: FailureFormat;
}

/** `path`: a pattern relative to each base. */
export const defineUnknown = (
	group: RouteGroup,
	paths: readonly (Pick<UnknownPaths, "path" | "explain"> & { explained?: FailureFormat })[],
): UnknownPaths[] =>
	group.bases.flatMap((base) =>
		paths.map(
			(unknown): UnknownPaths => ({
				...unknown,
				...endpointAt(base, unknown.path, group),
				// The refusal is the same for all accounts, so a token of any account is accepted.
				account: "optional",
				permission: "run",
			}),
		),
	);

/** `caller`: absent if the route has no account. `bearer`: absent on a route without a credential. */
export interface Identity {
	bearer?: Bearer;
	caller?: Caller;
	/** The request has no valid credential, and the route serves it. */
	unauthenticated?: true;
}

/** The context of one request, for its handler. */
export class HttpCall<Services extends HttpServices = HttpServices> {
	/** `cf-ai-req-id` */
	readonly id: string;
	readonly services: Services;
	readonly identity: Identity;

	constructor(id: string, services: Services, identity: Identity) {
		this.id = id;
		this.services = services;
		this.identity = identity;
	}

	get bearer(): Bearer {
		const { bearer } = this.identity;
		if (!bearer) throw new AiError("authentication");
		return bearer;
	}

	get caller(): Caller {
		const { caller } = this.identity;
		if (!caller) throw new AiError("authentication");
		return caller;
	}
}

/** A parameter of the path, without a trailing slash. */
export const pathParameter = ({ req }: Context, name: string): string =>
	(req.param(name) ?? "").replace(/\/$/, "");

export const methodNotAllowed = ({ req }: Context): AiError =>
	new AiError("methodNotAllowed", `${req.method} not supported for requested URI.`);
