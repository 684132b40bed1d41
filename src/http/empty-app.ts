/** An app without routes, with the router of this gateway. */
import type { Env, Hono } from "hono";
// `hono` itself also loads the routers that this app does not use.
import { HonoBase } from "hono/hono-base";
import { getPathNoStrict } from "hono/utils/url";
import { copied } from "../core/copied.ts";
import { CachingRouter } from "./caching-router.ts";

/** Characters. Caches keep paths, and names that are parts of them, and so the whole address: with its query it may have 64 KB. */
const MAX_KEPT_ADDRESS = 512;

function pathOf({ url }: Request): string {
	const path = getPathNoStrict({ url } as Request);
	return url.length > MAX_KEPT_ADDRESS ? copied(path) : path;
}

/** A slash at the end of a path has no meaning. */
export const emptyApp = <E extends Env>(): Hono<E> =>
	new HonoBase<E>({ getPath: pathOf, router: new CachingRouter() });
