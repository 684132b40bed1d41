/**
 * Protects a gateway without credentials (`ALLOW_ANONYMOUS`) against foreign web pages in a browser on the same machine or
 * network. Such a page can send requests to loopback (cross-site requests), or resolve its own name to 127.0.0.1 (DNS
 * rebinding).
 *
 * `Host` must be a loopback name, an address, or a name of `ALLOWED_HOSTS`. `Origin`, which browsers send, must be the
 * same host, a loopback name, or an origin of `CORS`. A gateway with tokens does not need this, because a foreign page has
 * no token.
 */
import type { Context } from "hono";
import { AiError } from "../core/errors.ts";
import type { Access } from "./credentials.ts";
import type { CorsSetting } from "./cross-origin.ts";

/**
 * Matches loopback names and addresses, and the names that container engines give the host. Those are not in public DNS,
 * because `.internal` is reserved.
 */
const LOOPBACK =
	/^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\]|host\.(?:docker|containers)\.internal)$/i;
/** Matches IPv4 and IPv6 addresses. They are safe, because DNS rebinding needs a name. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/i;
/** Matches content types that a page may send to any address without a preflight. Such a body may be JSON. */
const UNCHECKED_TYPE = /^(?:$|text\/plain|application\/x-www-form-urlencoded)/i;

type LocalAccess = Pick<Access, "allowAnonymous" | "allowedHosts"> & { cors?: CorsSetting };

/** A guard of all routes; throws 403. `undefined` for a gateway that needs credentials. */
export function localOnly({
	allowAnonymous,
	allowedHosts = [],
	cors,
}: LocalAccess): ((c: Context) => void) | undefined {
	if (!allowAnonymous) return undefined;
	const names = new Set(allowedHosts.map((host) => host.toLowerCase()));
	const origins = new Set(cors?.origins);
	return (c) => {
		const { hostname } = new URL(c.req.url);
		if (!LOOPBACK.test(hostname) && !ADDRESS.test(hostname) && !names.has(hostname))
			throw new AiError(
				"forbidden",
				`The host ${hostname} is not allowed while ALLOW_ANONYMOUS is set: add it to ALLOWED_HOSTS`,
			);
		const origin = c.req.header("origin");
		// The origin of sandboxed pages and of files is "null", which has no host.
		const page = origin === undefined ? hostname : URL.parse(origin)?.hostname;
		if (page === hostname) return;
		if (!origins.has("*") && !origins.has(origin ?? "") && !(page !== undefined && LOOPBACK.test(page)))
			throw new AiError(
				"forbidden",
				"Requests of web pages from this origin are not allowed while ALLOW_ANONYMOUS is set: add it to CORS",
			);
		if (c.req.raw.body && UNCHECKED_TYPE.test(c.req.header("content-type")?.trim() ?? ""))
			throw new AiError("forbidden", "JSON of a web page needs the content type application/json");
	};
}
