/**
 * Routes of the HTTP surfaces, each declared once: its method and path, its permission, where it takes a credential, the
 * format of its failures, its handler, and what an OpenAPI document says about it. `mountRoutes` mounts a list of them.
 */
import type { Context } from "hono";
import type { z } from "zod";
import type { Permission } from "../accounts/admission.ts";
import { AiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";
import { AUTHORIZATION, type Bearer, type CredentialLocation } from "./credentials.ts";
import type { FailureFormat } from "./failure-formats.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * `none`: no credential. `token`: any valid token of the account; the handler's own call of the account's object verifies
 * it. `operator`: the operator's credential.
 */
export type RoutePermission = Permission | "none" | "token" | "operator";

/** `path`: the parameter `:account`. `token`: the token's; a route needs one. `optional`: the token's, the operator has none. */
export type AccountSource = "path" | "token" | "optional";

export interface Payload {
	/** A media type. */
	type: string;
	/** `by-model`: the model decides, and `GET …/ai/models/schema?model=` shows it. Absent: the code has no schema. */
	schema?: z.ZodType | "by-model";
}

/** What a request meets before a handler: also at a path without a route. */
export interface Entrance {
	/** Hono's pattern, from the root. */
	path: string;
	permission: RoutePermission;
	account: AccountSource;
	/** The first that a request has counts. */
	credentials: readonly CredentialLocation[];
	failure: FailureFormat;
}

/** `call`: who calls. Handlers keep nothing between requests. */
export type Handler = (c: Context, call: Call) => Response | Promise<Response>;

export interface Route extends Entrance {
	method: Method;
	/** One line of an OpenAPI document. */
	summary: string;
	tag: string;
	/**
	 * The handler's own call of the account's object verifies the credential: the pipeline's admission, or `countRequest`.
	 * Until then no error but one about the credential is disclosed.
	 */
	lazy?: true;
	/** No cache may keep a reply: it may contain the text of a token. */
	noStore?: true;
	/** Parameters of the address. Their defaults may depend on the day. */
	query?: z.ZodType | ((today: string) => z.ZodType);
	/** The body. Absent: there is none. */
	input?: Payload;
	/** Absent: JSON without a schema. */
	output?: Payload;
	handler: Handler;
}

/** A path below which every route of a group is mounted. */
export interface Base {
	path: string;
	/** For a base without `:account`. */
	account?: Exclude<AccountSource, "path">;
	/** These come before those of the group. */
	credentials?: readonly CredentialLocation[];
}

/** What the routes of a surface have in common. */
export interface RouteGroup {
	bases: readonly Base[];
	tag: string;
	failure: FailureFormat;
	/** `Authorization` where absent. */
	credentials?: readonly CredentialLocation[];
	noStore?: true;
}

/** A route without what its group says. `path`: from the base. */
export interface RouteDeclaration
	extends Omit<Route, "account" | "credentials" | "failure" | "method" | "tag"> {
	method: Method | readonly Method[];
	failure?: FailureFormat;
	/** Instead of those of the group. */
	credentials?: readonly CredentialLocation[];
}

const entranceAt = (
	{ path: basePath, account = "optional", credentials: first = [] }: Base,
	path: string,
	{ failure, credentials = [AUTHORIZATION] }: Pick<RouteGroup, "failure" | "credentials">,
): Omit<Entrance, "permission"> => {
	const full = `${basePath}${path}`;
	return {
		path: full,
		account: full.includes("/:account") ? "path" : account,
		credentials: [...first, ...credentials],
		failure,
	};
};

/** The routes of a group: each declaration at every base, for each of its methods. */
export const defineRoutes = (group: RouteGroup, declarations: readonly RouteDeclaration[]): Route[] =>
	group.bases.flatMap((base) =>
		declarations.flatMap((declaration) =>
			[declaration.method].flat().map(
				(method): Route => ({
					tag: group.tag,
					...(group.noStore && { noStore: true }),
					...declaration,
					...entranceAt(base, declaration.path, { ...group, ...declaration }),
					method,
				}),
			),
		),
	);

/** A part of the address space where paths without a route are refused. */
export interface UnknownPaths extends Entrance {
	/** The sentence of the refusal, where it can say more than that there is no route. */
	explain?(path: string): string | undefined;
	/** The format of a refusal with such a sentence. */
	explained?: FailureFormat;
}

/** `path`: a pattern from each base. */
export const defineUnknown = (
	group: RouteGroup,
	paths: readonly (Pick<UnknownPaths, "path" | "explain"> & { explained?: FailureFormat })[],
): UnknownPaths[] =>
	group.bases.flatMap((base) =>
		paths.map(
			(unknown): UnknownPaths => ({
				...unknown,
				...entranceAt(base, unknown.path, group),
				// A token of any account may learn that there is no route.
				account: "optional",
				permission: "run",
			}),
		),
	);

/** `caller`: absent where the route has no account. `bearer`: absent on a route without a credential. */
export interface Identity {
	bearer?: Bearer;
	caller?: Caller;
}

/** A request that reached its handler. */
export class Call {
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

/** A parameter of the path, without the slash at its end. */
export const pathParameter = ({ req }: Context, name: string): string =>
	(req.param(name) ?? "").replace(/\/$/, "");

export const methodNotAllowed = ({ req }: Context): AiError =>
	new AiError("methodNotAllowed", `${req.method} not supported for requested URI.`);
