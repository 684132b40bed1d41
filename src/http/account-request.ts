/** Bodies and queries of an account's own routes. What is wrong with one is told by its field, as 1001. */
import type * as z from "zod";
import { AiError } from "../core/errors.ts";
import type { Limits } from "../pipeline/limits.ts";
import { readJson } from "./body.ts";

/** Of what such a route is sent, which is never a document. */
const MAX_BODY_BYTES = 64 * 1024;

/** A sentence that lists more is not read. */
const MAX_MISTAKES = 8;

/** All mistakes: `policies[0].effect: Invalid option: …; name: …`; `whole` where it is no one field. Never repeats a value. */
export function parseFields<T>(schema: z.ZodType<T>, fields: unknown, whole: "body" | "query"): T {
	const result = schema.safeParse(fields);
	if (result.success) return result.data;
	const mistakes = result.error.issues.map(({ path, message }) => {
		const field = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
		return `${field.replace(/^\./, "") || whole}: ${message}`;
	});
	throw new AiError("invalidRequest", mistakes.slice(0, MAX_MISTAKES).join("; "));
}

export async function readFields(request: Request, limits: Limits): Promise<unknown> {
	try {
		return await readJson(request, { ...limits, jsonBytes: Math.min(MAX_BODY_BYTES, limits.jsonBytes) });
	} catch (error) {
		// Of these routes, nothing is inference.
		if (error instanceof AiError && error.failure.plane === "inference" && error.status < 500)
			throw new AiError("invalidRequest", error.description);
		throw error;
	}
}
