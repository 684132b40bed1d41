/**
 * Authenticates a request at its route, before the body is read: finds the credential and the account, and asks the
 * account's object whether the credential has the route's permission.
 *
 * On a *lazy* route the pipeline's admission verifies the credential, in the same call of the account's object that admits
 * the request. If the body is small JSON, it is read before that. Otherwise the credential is verified here first, because
 * large bodies, forms and files are expensive to read.
 *
 * A text that cannot be a token is refused without a call of an object. So is a token whose account is not the path's:
 * 403, because a token contains the id of its account and is valid for no other.
 */
import type { Context } from "hono";
import type { Ledgers, Permission } from "../accounts/admission.ts";
import { OPERATOR_ACCOUNT } from "../accounts/operator-account.ts";
import { AiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import { countBody, isSmallJson } from "./body.ts";
import { type Access, type Bearer, type CredentialReader, credentialReader } from "./credentials.ts";
import type { Authentication } from "./mount-routes.ts";
import type { Endpoint, HttpRoute, Identity, RoutePermission } from "./route.ts";
import type { HttpServices } from "./services.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

export const ACCOUNT_ID = /^[\w-]{1,64}$/;
/** The account that the examples of the documentation use. */
const LOCAL_ACCOUNT = "local";

type AuthenticationServices = Pick<HttpServices, "ledgers" | "directory" | "now">;

export class Authenticator implements Authentication {
	readonly #access: Access;
	readonly #services: AuthenticationServices;
	readonly #read: CredentialReader;
	readonly #verified: VerifiedTokens;

	constructor(access: Access, services: AuthenticationServices) {
		this.#access = access;
		this.#services = services;
		this.#read = credentialReader(access);
		this.#verified = new VerifiedTokens(services);
	}

	identify(c: Context, { account, credentials, permission }: Endpoint): Identity | Promise<Identity> {
		if (permission === "none") return {};
		const bearer = this.#read(c.req, credentials);
		const { path } = c.req;
		if (account === "token" && bearer.account === undefined)
			return this.#soleAccount(path).then((sole) => ({ bearer, caller: callerFrom(bearer, sole, path) }));
		const id = account === "path" ? c.req.param("account") : bearer.account;
		return id === undefined ? { bearer } : { bearer, caller: callerFrom(bearer, id, path) };
	}

	verify(
		request: Request,
		{ permission, lazy }: Pick<HttpRoute, "lazy" | "permission">,
		identity: Identity,
	): Identity | Promise<Identity> {
		const { bearer, caller } = identity;
		if (permission === "operator" && bearer?.credential.kind !== "operator")
			throw new AiError("forbidden", "Authentication error: only the operator's token may call this route");
		if (!caller || !isAccountPermission(permission)) return identity;
		const isSmall = isSmallJson(request);
		if (!isSmall) countBody(request, caller.account);
		if (caller.verified || (lazy && isSmall)) return identity;
		const verified = lazy
			? this.#verified
					.verify(caller.account, caller.credential)
					.then((known) => ({ ...caller, verified: true, identity: known }))
			: verifyCaller(caller, permission, this.#services.ledgers);
		return verified.then((one) => ({ ...identity, caller: one }));
	}

	/** The operator's account for a path without one: the only one of callers, if exactly one exists. */
	async #soleAccount(path: string): Promise<string> {
		if (this.#access.allowAnonymous) return LOCAL_ACCOUNT;
		const { accounts } = await this.#services.directory.list({ limit: 3 });
		const [only, ...others] = accounts.filter(({ id }) => id !== OPERATOR_ACCOUNT);
		if (only && others.length === 0) return only.id;
		throw new AiError(
			"invalidRequest",
			`The operator's token is good for every account: name one in the address, /client/v4/accounts/{account}/ai${path}`,
		);
	}
}

/** Calls the account's object, unless the caller is already verified. Throws `AiError` if the object refuses. */
export async function verifyCaller(
	caller: Caller,
	permission: RoutePermission,
	ledgers: Ledgers,
): Promise<Caller> {
	if (caller.verified || !isAccountPermission(permission)) return caller;
	const identity = await ledgers.of(caller.account).verify(caller.credential, permission);
	return { ...caller, verified: true, identity };
}

/** The caller with what its account knows of the credential: {@link verifyCaller} calls no account for an operator. */
export async function identifyCaller(caller: Caller, ledgers: Ledgers): Promise<Caller> {
	if (caller.identity) return caller;
	const identity = await ledgers.of(caller.account).verify(caller.credential, "run");
	return { ...caller, verified: true, identity };
}

/** Whether the account's object verifies the permission before the handler runs. */
const isAccountPermission = (permission: RoutePermission): permission is Permission =>
	permission !== "none" && permission !== "token" && permission !== "operator";

function callerFrom({ account: tokenAccount, credential }: Bearer, account: string, path: string): Caller {
	if (!ACCOUNT_ID.test(account))
		throw new AiError(
			"unroutableAccount",
			`Could not route to ${path.replace(/^\/client\/v4/, "")}, perhaps your object identifier is invalid?`,
		);
	if (tokenAccount !== undefined && tokenAccount !== account)
		throw new AiError(
			"forbidden",
			`Authentication error: the token is for another account than "${account}", which the address names`,
		);
	return { account, credential, ...(credential.kind === "operator" && { verified: true }) };
}
