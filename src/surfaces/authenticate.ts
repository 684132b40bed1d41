/**
 * Who is calling, on every route that is not open. Accounts and their tokens do not exist yet: every caller is
 * refused, unless the operator's `ALLOW_ANONYMOUS` lets all of them in, as `npm run dev` does.
 */
import type { Context, MiddlewareHandler } from "hono";
import { AiError } from "../errors.ts";
import type { Caller } from "../request.ts";

/** The only paths that answer without a credential. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(["/"]);

const ACCOUNT = /^[\w-]{1,64}$/;

export const authenticate =
	(allowAnonymous: boolean): MiddlewareHandler =>
	async (c, next) => {
		if (!OPEN_PATHS.has(c.req.path) && !allowAnonymous) throw new AiError("authentication");
		await next();
	};

/** Refuses an account id that cannot be one, before anything is read. */
export const checkAccount: MiddlewareHandler = async (c, next) => {
	callerOf(c);
	await next();
};

/** The caller of an account's route, authenticated above. */
export function callerOf(c: Context): Caller {
	const account = c.req.param("account") ?? "";
	if (!ACCOUNT.test(account))
		throw new AiError(
			"unroutableAccount",
			`Could not route to ${c.req.path.replace(/^\/client\/v4/, "")}, perhaps your object identifier is invalid?`,
		);
	return { account };
}
