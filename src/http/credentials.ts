/**
 * Reads the credential of a request, from the locations that its route allows. A credential is a token of an account, or
 * the operator's `ADMIN_TOKEN`, which is valid for every account. It is in `Authorization: Bearer`, or where the SDKs of
 * Anthropic, Google, Azure OpenAI and AI Gateway send it.
 *
 * Differences from the product: global API keys do not exist, so `X-Auth-Key` and `X-Auth-Email` are not read. A missing
 * or malformed header is 10000, like an invalid token, and not 9106 or 6003.
 */
import type { HonoRequest } from "hono";
import type { Credential } from "../accounts/admission.ts";
import { accountOfToken, digest, hexadecimal } from "../accounts/token-text.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { AiError } from "../core/errors.ts";

/** Where a route takes a credential. */
export interface CredentialLocation {
	/** `protocol`: one of the subprotocols that a websocket offers; `name` is the text before the token, which is URL-encoded. */
	in: "header" | "query" | "protocol";
	name: string;
	/** The text is `Bearer {token}`. Elsewhere it is the token alone. */
	scheme?: "bearer";
	/** `Token {token}` and `Key {token}` are also accepted: SDKs of providers write their key so. */
	acceptsSdkSchemes?: true;
	/** The location counts only in a request with this header. */
	requires?: string;
}

export const AUTHORIZATION: CredentialLocation = { in: "header", name: "authorization", scheme: "bearer" };
/** Where SDKs of providers send their key: Deepgram's SDK with `Token`, fal's with `Key`. */
export const SDK_AUTHORIZATION: CredentialLocation = { ...AUTHORIZATION, acceptsSdkSchemes: true };
/** AI Gateway takes its token here, because `Authorization` may contain the provider's key. */
export const GATEWAY_AUTHORIZATION: CredentialLocation = {
	in: "header",
	name: "cf-aig-authorization",
	scheme: "bearer",
};
/** Anthropic's SDKs. */
export const ANTHROPIC_KEY: CredentialLocation = { in: "header", name: "x-api-key" };
/** Clients of Azure OpenAI. */
export const AZURE_KEY: CredentialLocation = { in: "header", name: "api-key" };
/** Google's SDKs. */
export const GEMINI_KEYS: readonly CredentialLocation[] = [
	{ in: "header", name: "x-goog-api-key" },
	{ in: "query", name: "key" },
];

/** A websocket of a browser has no headers. AI Gateway takes its token in a subprotocol with this name. */
export const WEBSOCKET_PROTOCOL: CredentialLocation = { in: "protocol", name: "cf-aig-authorization." };

export interface Access {
	/**
	 * Every caller is the operator. The credential of the request is ignored, because clients on a developer's machine send
	 * a placeholder or the token of another deployment.
	 */
	allowAnonymous: boolean;
	/** Host names that a gateway without credentials accepts in addition to loopback (`gateway.lan`): local-only.ts. */
	allowedHosts?: readonly string[];
	/** At least 32 characters. */
	adminToken?: string;
}

/** A credential. Only the operator's is already verified. */
export interface Bearer {
	credential: Credential;
	/** The account of the token. Absent for the operator, whose credential is valid for all. */
	account?: string;
}

const BEARER = /^Bearer +([!-~]+)$/i;
const SDK_SCHEME = /^(?:Token|Key) +/i;
/** For each isolate. Hashing is half of the cost of reading a credential. */
const MAX_CACHED_TOKENS = 20_000;
/** A longer text is not a token, and is not cached. */
const MAX_CACHED_CHARACTERS = 256;
const OPERATOR: Bearer = { credential: { kind: "operator" } };

const NO_ADMIN_TOKEN =
	"A request was refused (401). No ADMIN_TOKEN is set, and tokens cannot be made without it: set that secret (docs/accounts.md)";

export type CredentialReader = (request: HonoRequest, locations: readonly CredentialLocation[]) => Bearer;

/** The reader uses the first location that the request has. It throws 401 if the text cannot be a token. */
export function credentialReader({ allowAnonymous, adminToken }: Access): CredentialReader {
	const admin = adminToken === undefined ? undefined : digest(adminToken);
	// By the text of the credential. Only the hash is cached: the account's object verifies the token at every request.
	const cache = new BoundedMap<string, Bearer>(MAX_CACHED_TOKENS);
	let warned = false;
	const refuse = (reason?: string): never => {
		// Logged once, for the operator of a new deployment.
		if (adminToken === undefined && !warned) console.warn(NO_ADMIN_TOKEN);
		warned = true;
		throw new AiError("authentication", reason && `Authentication error: no valid token: ${reason}`);
	};
	return (request, locations) => {
		if (allowAnonymous) return OPERATOR;
		const header = textIn(request, locations);
		if (header === undefined) return refuse(unreadHeader(request, locations));
		const cached = cache.get(header);
		if (cached) return cached;
		const text = BEARER.exec(header)?.[1];
		if (text === undefined) return refuse(missingScheme(header, usedLocation(request, locations)));
		const hash = digest(text);
		if (admin && crypto.subtle.timingSafeEqual(hash, admin)) return OPERATOR;
		const account = accountOfToken(text);
		if (account === undefined) return refuse();
		const bearer: Bearer = { credential: { kind: "token", hash: hexadecimal(hash) }, account };
		if (header.length <= MAX_CACHED_CHARACTERS) cache.set(header, bearer);
		return bearer;
	};
}

/** The first location that the request has. Its text is the credential of this gateway, never a provider's key. */
export const usedLocation = (
	request: HonoRequest,
	locations: readonly CredentialLocation[],
): CredentialLocation | undefined => locations.find((location) => textAt(request, location) !== undefined);

/** Headers in which clients send a credential, and which not every route reads. */
const KEY_HEADERS = ["x-auth-key", ANTHROPIC_KEY.name, AZURE_KEY.name, "x-goog-api-key"];
const SENT_AS = "send the token as `Authorization: Bearer {token}` (docs/accounts.md#tokens)";

/** Why a request without a credential that is read may believe that it has one. */
function unreadHeader(request: HonoRequest, locations: readonly CredentialLocation[]): string | undefined {
	const read = new Set(locations.map(({ name }) => name));
	const unread = KEY_HEADERS.find((name) => !read.has(name) && request.header(name) !== undefined);
	return unread && `the header \`${unread}\` is not read here; ${SENT_AS}`;
}

/** Why a text is no credential. The text itself is not shown, because it may be a token. */
const missingScheme = (text: string, location: CredentialLocation | undefined): string | undefined =>
	location?.scheme && text !== "" && !/^Bearer(?: |$)/i.test(text)
		? `the header \`${location.name}\` has no \`Bearer\` before the token (docs/accounts.md#tokens)`
		: undefined;

/** The text with the scheme `Bearer`, which is added if the location has none. */
function textIn(request: HonoRequest, locations: readonly CredentialLocation[]): string | undefined {
	for (const location of locations) {
		const text = textAt(request, location);
		if (text === undefined) continue;
		if (location.acceptsSdkSchemes) return text.replace(SDK_SCHEME, "Bearer ");
		return location.scheme ? text : `Bearer ${text}`;
	}
	return undefined;
}

function textAt(request: HonoRequest, { in: place, name, requires }: CredentialLocation): string | undefined {
	if (requires !== undefined && request.header(requires) === undefined) return undefined;
	switch (place) {
		case "header":
			return request.header(name);
		case "query":
			return request.query(name);
		case "protocol":
			return tokenInProtocols(offeredProtocols(request.raw), name);
		default:
			return place satisfies never;
	}
}

/** The token in the first of these subprotocols that begins with the prefix. */
export function tokenInProtocols(
	protocols: readonly string[],
	prefix = WEBSOCKET_PROTOCOL.name,
): string | undefined {
	const protocol = protocols.find((one) => one.startsWith(prefix));
	try {
		return protocol === undefined ? undefined : decodeURIComponent(protocol.slice(prefix.length));
	} catch {
		return undefined;
	}
}

/** The subprotocols in the text of the header. */
export const listedProtocols = (header: string): string[] =>
	header.split(",").map((protocol) => protocol.trim());

/** The subprotocols of a handshake. */
export const offeredProtocols = ({ headers }: Request): string[] =>
	listedProtocols(headers.get("sec-websocket-protocol") ?? "");

/** The subprotocol that the reply to a handshake selects: the first that is not a token. A browser requires one if it offers some. */
export const selectedProtocol = (request: Request): string | undefined =>
	offeredProtocols(request).find(
		(protocol) => protocol !== "" && !protocol.startsWith(WEBSOCKET_PROTOCOL.name),
	);
