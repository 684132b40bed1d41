/** Headers of a request that is passed to a provider, and of its response. */
import { HOP_BY_HOP } from "../../core/hop-by-hop.ts";
import { FAL_TARGET } from "./addresses.ts";

/** Headers of the caller or of its connection to this gateway, and those that are set for each request. The body is decompressed. */
const PRIVATE_REQUEST: ReadonlySet<string> = new Set([
	...HOP_BY_HOP,
	"accept-encoding",
	"content-encoding",
	"content-length",
	"cookie",
	"expect",
	"forwarded",
	"host",
	"origin",
	"referer",
	"true-client-ip",
	"via",
	"x-auth-email",
	"x-auth-key",
	FAL_TARGET,
	"x-real-ip",
]);
/** Matches AI Gateway's options and credential, Cloudflare's and proxies' facts about the client, and this gateway's headers. */
const PRIVATE_PREFIX = /^(?:cf-|x-forwarded-|x-ganglion-|sec-|proxy-)/;

/** Headers in which providers' keys and this gateway's tokens arrive. */
const KEY_HEADERS = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "xi-api-key"] as const;

/** Removes a key, also with a scheme, from all headers that have it: some SDKs send theirs in two. */
export function removeKey(headers: Headers, key: string): void {
	for (const name of KEY_HEADERS) if (withoutScheme(headers.get(name) ?? "") === key) headers.delete(name);
}

export const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Token|Key) +/i, "").trim();

/** The headers that a provider may see. Keys are not among them. */
export function forwardedHeaders(headers: Headers): Headers {
	const named = new Set((headers.get("connection") ?? "").toLowerCase().split(/\s*,\s*/));
	const forwarded = new Headers();
	for (const [name, value] of headers)
		if (
			!PRIVATE_REQUEST.has(name) &&
			!PRIVATE_PREFIX.test(name) &&
			!named.has(name) &&
			!KEY_HEADERS.some((key) => key === name)
		)
			forwarded.set(name, value);
	return forwarded;
}

/** The runtime decompresses the body and sets its length. Cookies and browser policies would apply to this gateway's host. */
const PRIVATE_RESPONSE: ReadonlySet<string> = new Set([
	...HOP_BY_HOP,
	"alt-svc",
	"clear-site-data",
	"content-encoding",
	"content-length",
	"set-cookie",
	"set-cookie2",
	"strict-transport-security",
]);
const BROWSER_POLICY = /^(?:access-control-|cross-origin-|content-security-policy)/;

/** Headers of a provider's response for the caller. A browser that opens the answer runs no script of it. */
export function returnedHeaders(headers: Headers): Headers {
	const returned = new Headers();
	for (const [name, value] of headers)
		if (!PRIVATE_RESPONSE.has(name) && !BROWSER_POLICY.test(name) && !/^cf-aig-|^x-ganglion-/.test(name))
			returned.append(name, value);
	returned.set("content-security-policy", "sandbox");
	returned.set("x-content-type-options", "nosniff");
	return returned;
}
