/**
 * Authentication of a request at its route, in one step before the body is read: the credential, the account, and
 * whether the account's object confirms that the credential has the route's permission.
 *
 * A route is *lazy* where the pipeline's admission verifies the credential in the same call of the account's object that
 * admits the request. A small JSON body of such a route is read first. Before a large body, a form or a file is read,
 * the credential is verified here.
 *
 * A text that cannot be a token is refused without a call of an object, and so is a token of another account than the
 * path's: with 403, because a token names its account and is valid for no other.
 */
import type { Context } from "hono";
import type { Ledgers, Permission } from "../accounts/admission.ts";
import { AiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";
import { isSmallJson } from "./body.ts";
import { type Access, type Bearer, type CredentialReader, credentialReader } from "./credentials.ts";
import type { Authentication } from "./mount-routes.ts";
import type { Entrance, Identity, Route, RoutePermission } from "./route.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

export const ACCOUNT_ID = /^[\w-]{1,64}$/;
/** The account of the examples, for development. */
const LOCAL_ACCOUNT = "local";

type World = Pick<Services, "ledgers" | "directory" | "now">;

export class Authenticator implements Authentication {
	readonly #access: Access;
	readonly #world: World;
	readonly #read: CredentialReader;
	readonly #verified: VerifiedTokens;

	constructor(access: Access, world: World) {
		this.#access = access;
		this.#world = world;
		this.#read = credentialReader(access);
		this.#verified = new VerifiedTokens(world);
	}

	async identify(c: Context, { account, credentials, permission }: Entrance): Promise<Identity> {
		if (permission === "none") return {};
		const bearer = this.#read(c.req, credentials);
		const id =
			account === "path"
				? c.req.param("account")
				: account === "token"
					? await this.#soleAccount(bearer, c.req.path)
					: bearer.account;
		return id === undefined ? { bearer } : { bearer, caller: callerFrom(bearer, id, c.req.path) };
	}

	async verify(request: Request, { permission, lazy }: Route, identity: Identity): Promise<Identity> {
		const { bearer, caller } = identity;
		if (permission === "operator" && bearer?.credential.kind !== "operator")
			throw new AiError("forbidden", "Authentication error: only the operator's token sees all accounts");
		if (!caller || caller.verified || !isOfTokens(permission)) return identity;
		if (!lazy) return { ...identity, caller: await verifyCaller(caller, permission, this.#world.ledgers) };
		if (isSmallJson(request)) return identity;
		await this.#verified.verify(caller.account, caller.credential);
		return { ...identity, caller: { ...caller, verified: true } };
	}

	/** The account for a path that names none: the token's; for the operator the only one, if there is one. */
	async #soleAccount({ account }: Bearer, path: string): Promise<string> {
		if (account !== undefined) return account;
		if (this.#access.allowAnonymous) return LOCAL_ACCOUNT;
		const { accounts } = await this.#world.directory.list({ limit: 2 });
		const [only] = accounts;
		if (only && accounts.length === 1) return only.id;
		throw new AiError(
			"invalidRequest",
			`The operator's token is good for every account: name one in the address, /client/v4/accounts/{account}/ai${path}`,
		);
	}
}

/** Calls the account's object, unless the caller is verified already. Throws `AiError` where it refuses. */
export async function verifyCaller(
	caller: Caller,
	permission: RoutePermission,
	ledgers: Ledgers,
): Promise<Caller> {
	if (caller.verified || !isOfTokens(permission)) return caller;
	await ledgers.of(caller.account).verify(caller.credential, permission);
	return { ...caller, verified: true };
}

/** A permission that the account's object verifies before the handler runs. */
const isOfTokens = (permission: RoutePermission): permission is Permission =>
	permission !== "none" && permission !== "token" && permission !== "operator";

function callerFrom({ account: own, credential }: Bearer, account: string, path: string): Caller {
	if (!ACCOUNT_ID.test(account))
		throw new AiError(
			"unroutableAccount",
			`Could not route to ${path.replace(/^\/client\/v4/, "")}, perhaps your object identifier is invalid?`,
		);
	if (own !== undefined && own !== account)
		throw new AiError("forbidden", "Authentication error: the token is for another account");
	return { account, credential, ...(credential.kind === "operator" && { verified: true }) };
}
