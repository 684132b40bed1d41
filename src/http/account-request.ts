/** Bodies and queries of the routes that manage accounts. An invalid field is reported by its path, as 1001. */
import type * as z from "zod";
import { AiError } from "../core/errors.ts";
import type { Limits } from "../pipeline/limits.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { readJson } from "./body.ts";

/** These routes take short JSON only. */
const MAX_BODY_BYTES = 64 * 1024;

const MAX_REPORTED_ISSUES = 8;

/**
 * Throws 1001 with all invalid fields: `policies[0].effect: Invalid option: …; name: …`. An issue without a field has
 * `source` as its path. The message contains no value of the request.
 */
export function parseFields<T>(schema: z.ZodType<T>, fields: unknown, source: "body" | "query"): T {
	const result = safeParse(schema, fields);
	if (result.success) return result.data;
	const issues = result.error.issues.map(({ path, message }) => {
		const field = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
		return `${field.replace(/^\./, "") || source}: ${message}`;
	});
	throw new AiError("invalidRequest", issues.slice(0, MAX_REPORTED_ISSUES).join("; "));
}

export async function readFields(request: Request, limits: Limits): Promise<unknown> {
	try {
		return await readJson(request, {
			limits: { ...limits, jsonBytes: Math.min(MAX_BODY_BYTES, limits.jsonBytes) },
		});
	} catch (error) {
		// These routes run no model, so a failure of the inference plane becomes 1001.
		if (error instanceof AiError && error.failure.plane === "inference" && error.status < 500)
			throw new AiError("invalidRequest", error.description);
		throw error;
	}
}
