/** Bodies and queries of the routes that manage accounts. An invalid field is reported by its path, as 1001. */
import type * as z from "zod";
import { AiError } from "../core/errors.ts";
import type { Limits } from "../pipeline/limits.ts";
import { explain } from "../schemas/explain.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { readJson } from "./body.ts";

/** These routes take short JSON only. */
const MAX_BODY_BYTES = 64 * 1024;

const MAX_REPORTED_ISSUES = 8;

/**
 * Throws 1001 with all invalid fields: `policies[0].effect: expected "allow" or "deny", found …; name: …`. An issue without a
 * field has `source` as its path. The message contains only names and numbers of the request (`src/schemas/explain.ts`).
 */
export function parseFields<T>(schema: z.ZodType<T>, fields: unknown, source: "body" | "query"): T {
	const result = safeParse(schema, fields, { error: explain });
	if (result.success) return result.data;
	const problems = result.error.issues.flatMap((issue) => {
		if (issue.code !== "unrecognized_keys") return `${fieldOf(issue.path) || source}: ${issue.message}`;
		const lines = issue.message.split("\n");
		return issue.keys.map((key, index) => `${fieldOf([...issue.path, key])}: ${lines[index]}`);
	});
	throw new AiError("invalidRequest", problems.slice(0, MAX_REPORTED_ISSUES).join("; "));
}

const fieldOf = (path: readonly PropertyKey[]): string =>
	path
		.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
		.join("")
		.replace(/^\./, "");

export async function readFields(request: Request, limits: Limits): Promise<unknown> {
	try {
		return await readJson(request, {
			limits: { ...limits, jsonBytes: Math.min(MAX_BODY_BYTES, limits.jsonBytes) },
		});
	} catch (error) {
		// These routes run no model, so a failure of the inference plane becomes 1001.
		if (error instanceof AiError && error.failure.plane === "inference" && error.status < 500)
			throw new AiError(
				error.key === "requestTooLarge" ? "fieldsTooLarge" : "invalidRequest",
				error.description,
			);
		throw error;
	}
}
