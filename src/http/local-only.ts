/**
 * Protection of a gateway that needs no credential (`ALLOW_ANONYMOUS`) against web pages in a browser that reaches it. A page may
 * send requests to loopback (cross-site requests), or give its own name the address 127.0.0.1 (DNS rebinding).
 *
 * `Host` must be a loopback name, an address, or a name of `ALLOWED_HOSTS`. `Origin`, which browsers send, must be the same host,
 * a page of this machine, or an origin of `CORS`. A gateway with tokens needs none of this: a foreign page has no token.
 */
import type { Context } from "hono";
import { AiError } from "../core/errors.ts";
import type { CorsSetting } from "./cross-origin.ts";

/** The names of container engines for the machine itself are in no public DNS, as `.internal` is reserved. */
const LOOPBACK =
	/^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\]|host\.(?:docker|containers)\.internal)$/i;
/** DNS rebinding needs a name. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/i;
/** Bodies of these types a page may send to any address without a preflight; they could hold JSON. */
const UNCHECKED_TYPE = /^(?:$|text\/plain|application\/x-www-form-urlencoded)/i;

export interface LocalAccess {
	allowAnonymous: boolean;
	/** Names of hosts beyond loopback: `gateway.lan`. */
	allowedHosts?: readonly string[];
	cors?: CorsSetting;
}

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
		// "null", the origin of sandboxed pages and of files, is no address.
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
