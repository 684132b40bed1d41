/**
 * Who is calling, and whether he may, on every route that is not open. A credential is `Authorization: Bearer` with a
 * token of the account, or with the operator's `ADMIN_TOKEN`, which is good for every account; or the same text as
 * `x-api-key` on Anthropic's routes, and as `x-goog-api-key` or `?key=` on Gemini's.
 *
 * The token comes before the body: a token is verified before a large body, a form or a file is read. A small JSON body
 * is read first, because admission then verifies the token in the same call of the account's object.
 *
 * A text that cannot be a token is refused without asking anybody, and so is a token of another account than the
 * path's: with 403, because a token names its account and is no use for another, valid or not.
 *
 * Differences from the product: there are no global API keys, so `X-Auth-Key` and `X-Auth-Email` are no credentials;
 * `cf-aig-authorization` is one on AI Gateway's own addresses, `/v1/{account}/{gateway}/…`. A missing or malformed header is 10000 like a wrong one, not 9106 or 6003.
 */
import type { Context, MiddlewareHandler } from "hono";
import type { Credential } from "../accounts/admission.ts";
import { accountOfToken, digest, hexadecimal } from "../accounts/token-text.ts";
import { AiError } from "../core/errors.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";
import { isSmallJson } from "./body.ts";
import { geminiKey, isGeminiPath } from "./gemini-request.ts";
import { isAnthropicRequest } from "./messages.ts";
import { permissionTable } from "./permissions.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

export const HEALTH_PATH = "/health";
export const READY_PATH = "/ready";
/** The only paths that answer without a credential. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(["/", HEALTH_PATH, READY_PATH]);

export interface Access {
	/**
	 * Lets everyone in as the operator, whatever credential he sends or does not send: clients on a laptop send a
	 * placeholder, or the token of another deployment.
	 */
	allowAnonymous: boolean;
	/** Names of hosts by which a gateway without credentials may be reached: local-only.ts. */
	allowedHosts?: readonly string[];
	/** At least 32 characters. */
	adminToken?: string;
}

/** A credential, not verified yet unless it is the operator's. */
export interface Bearer {
	credential: Credential;
	/** The account that a token is for. The operator's is for all. */
	account?: string;
}

export const ACCOUNT_ID = /^[\w-]{1,64}$/;
const BEARER = /^Bearer +([!-~]+)$/i;
/** For each isolate. Hashing is half of the cost of reading a header. */
const MAX_REMEMBERED_TOKENS = 1_000;
/** A header may be longer than any token. */
const MAX_REMEMBERED_CHARACTERS = 256;
const OPERATOR: Bearer = { credential: { kind: "operator" } };

const NO_ADMIN_TOKEN =
	"A request was refused (401). No ADMIN_TOKEN is set, and tokens cannot be made without it: set that secret (docs/accounts.md)";

/** Context variables of a request that has been let in. */
const BEARER_KEY = "bearer";
const CALLER_KEY = "caller-of-path";
const KNOWN_KEY = "known";

export function authenticate(
	access: Access,
	{ ledgers, directory, now }: Pick<Services, "ledgers" | "directory" | "now">,
): MiddlewareHandler {
	const bearerFrom = bearerReader(access);
	const verified = new VerifiedTokens({ ledgers, now });
	const match = permissionTable();
	return async (c, next) => {
		const { method, path } = c.req;
		if (OPEN_PATHS.has(path)) return next();
		const bearer = bearerFrom(gatewayCredentialOf(c) ?? c.req.header("authorization") ?? apiKeyOf(c));
		c.set(BEARER_KEY, bearer);
		const matched = match(method, path);
		if (!matched) throw new AiError("noRoute");
		const { requirement } = matched;
		const account = matched.account ?? (isAccountless(path) ? await soleAccount(bearer, path) : undefined);
		const caller = account === undefined ? undefined : callerFrom(bearer, account, path);
		c.set(CALLER_KEY, caller);
		if (!requirement) throw new AiError("methodNotAllowed", `${method} not supported for requested URI.`);
		if (caller && bearer !== OPERATOR) {
			const { account, credential } = caller;
			if (requirement !== "deferred") await ledgers.of(account).verify(credential, requirement);
			else if (!isSmallJson(c.req.raw)) await verified.verify(account, credential);
			else return next();
			c.set(KNOWN_KEY, true);
		}
		return next();
	};

	/** The account for a path that names none: the account of the token; for the operator the only one, if there is one. */
	async function soleAccount({ account }: Bearer, path: string): Promise<string> {
		if (account !== undefined) return account;
		if (access.allowAnonymous) return LOCAL_ACCOUNT;
		const { accounts } = await directory.list({ limit: 2 });
		const [only] = accounts;
		if (only && accounts.length === 1) return only.id;
		throw new AiError(
			"invalidRequest",
			`The operator's token is good for every account: name one in the address, /client/v4/accounts/{account}/ai${path}`,
		);
	}
}

/** The account of the examples, for development. */
const LOCAL_ACCOUNT = "local";

/** The routes of OpenAI and Gemini without an account in their path. */
const isAccountless = (path: string): boolean => /^\/v1(?:beta)?\//.test(path);

/** Reads the credential in a header. Throws 401 where the text cannot be a token. */
function bearerReader({ allowAnonymous, adminToken }: Access): (header: string | undefined) => Bearer {
	const admin = adminToken === undefined ? undefined : digest(adminToken);
	// By the text of the header. Caches the hash only: the account's object verifies the token at every request.
	const known = new Map<string, Bearer>();
	let warned = false;
	const refuse = (): never => {
		// Once, for the operator of a new deployment.
		if (adminToken === undefined && !warned) console.warn(NO_ADMIN_TOKEN);
		warned = true;
		throw new AiError("authentication");
	};
	return (header) => {
		if (allowAnonymous) return OPERATOR;
		if (header === undefined) return refuse();
		const remembered = known.get(header);
		if (remembered) return remembered;
		const text = BEARER.exec(header)?.[1];
		if (text === undefined) return refuse();
		const hash = digest(text);
		if (admin && crypto.subtle.timingSafeEqual(hash, admin)) return OPERATOR;
		const account = accountOfToken(text);
		if (account === undefined) return refuse();
		const bearer: Bearer = { credential: { kind: "token", hash: hexadecimal(hash) }, account };
		if (known.size >= MAX_REMEMBERED_TOKENS) known.clear();
		if (header.length <= MAX_REMEMBERED_CHARACTERS) known.set(header, bearer);
		return bearer;
	};
}

/** AI Gateway's own addresses take their token beside the provider's key, which `Authorization` may hold. */
const gatewayCredentialOf = (c: Context): string | undefined =>
	c.req.path.startsWith("/v1/") ? c.req.header("cf-aig-authorization") : undefined;

function apiKeyOf(c: Context): string | undefined {
	const key = isGeminiPath(c.req.path)
		? geminiKey(c.req)
		: isAnthropicRequest(c.req)
			? c.req.header("x-api-key")
			: undefined;
	return key && `Bearer ${key}`;
}

/** The credential of a request that has been let in. */
export function bearerOf(c: Context): Bearer {
	const bearer: Bearer | undefined = c.get(BEARER_KEY);
	if (!bearer) throw new AiError("authentication");
	return bearer;
}

/** The caller of an account's route. */
export function callerOf(c: Context): Caller {
	const caller: Pick<Caller, "account" | "credential"> | undefined = c.get(CALLER_KEY);
	if (!caller) throw new AiError("authentication");
	const known: boolean = c.get(KNOWN_KEY) === true || caller.credential.kind === "operator";
	return { ...caller, ...(known && { known }) };
}

function callerFrom(
	{ account: own, credential }: Bearer,
	account: string,
	path: string,
): Pick<Caller, "account" | "credential"> {
	if (!ACCOUNT_ID.test(account))
		throw new AiError(
			"unroutableAccount",
			`Could not route to ${path.replace(/^\/client\/v4/, "")}, perhaps your object identifier is invalid?`,
		);
	if (own !== undefined && own !== account)
		throw new AiError("forbidden", "Authentication error: the token is for another account");
	return { account, credential };
}
