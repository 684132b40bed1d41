import type { Env, Hono } from "hono";
import { AiError } from "../core/errors.ts";

/** Answers 7001 for a path that exists, asked with another method. Call it after the paths' own routes. */
export function methodNotAllowed<E extends Env>(app: Hono<E>, paths: readonly string[]): void {
	for (const path of paths)
		app.all(path, (c) => {
			throw new AiError("methodNotAllowed", `${c.req.method} not supported for requested URI.`);
		});
}
