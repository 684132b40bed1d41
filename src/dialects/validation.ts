/** The caller's inputs against a dialect's schema; what does not fit is refused as 5006, in the product's words. */
import type { z } from "zod";
import { AiError } from "../errors.ts";
import { describeFaults } from "./findings.ts";

/** Above so many values in the inputs, the first fault is the answer: a list of all would cost what they cost. */
const MAX_VALUES_CHECKED_WHOLE = 10_000;

type Context = z.core.ParseContextInternal<z.core.$ZodIssue>;
const ALL_FAULTS: Context = { reportInput: true };
/** zod keeps `abortEarly` for its own `validate()`, which does not say what the fault was. */
const FIRST_FAULT: Context = { reportInput: true, abortEarly: true };

export function validate<T>(schema: z.ZodType<T>, inputs: unknown): T {
	try {
		const quick = schema.safeParse(inputs, FIRST_FAULT);
		if (quick.success) return quick.data;
		const result = isSmall(inputs) ? schema.safeParse(inputs, ALL_FAULTS) : quick;
		if (result.success) return result.data;
		// No `cause`: the issues hold what the caller sent, and a cause goes to the log.
		throw new AiError("badInput", `Error: ${describeFaults(result.error.issues, schema, inputs)}`);
	} catch (error) {
		// The stack ends on inputs nested deeper than any schema here needs.
		if (error instanceof RangeError)
			throw new AiError("badInput", "Error: '/' is too large or too deeply nested to be checked");
		throw error;
	}
}

function isSmall(inputs: unknown): boolean {
	const open = [inputs];
	let seen = 0;
	for (let value = open.pop(); value !== undefined; value = open.pop()) {
		if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) continue;
		const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
		seen += children.length;
		if (seen > MAX_VALUES_CHECKED_WHOLE) return false;
		// `undefined` would end the loop; it has no children anyway.
		for (const child of children) if (child !== undefined) open.push(child);
	}
	return true;
}
