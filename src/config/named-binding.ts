/** A setting that names a binding of this Worker. */
import * as z from "zod";
import { kindOf } from "../schemas/explain.ts";
import type { Env } from "./headers.ts";

/** Converts the name to the binding. `kind`: `"an R2 binding"`. `is`: recognises it by its methods. */
export const namedBinding = <Binding extends object>(
	env: Env,
	kind: string,
	is: (bound: object) => bound is Binding,
) =>
	z.unknown().transform((name, context): Binding => {
		const bound = typeof name === "string" ? env[name] : undefined;
		if (typeof bound === "object" && bound !== null && is(bound)) return bound;
		const found = typeof name === "string" ? "text that names no binding" : kindOf(name);
		context.addIssue(`expected the name of ${kind} of this Worker, found ${found}`);
		return z.NEVER;
	});
