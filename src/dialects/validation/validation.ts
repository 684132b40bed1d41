/** Validates the caller's inputs against a dialect's schema. Throws 5006 with the product's wording. */
import type { z } from "zod";
import { safeParse } from "../../schemas/safe-parse.ts";
import { shortRead } from "../../schemas/short-read.ts";
import { badInput } from "../invalid-input.ts";
import { describeIssues } from "./findings.ts";

/** Each value may cause an issue, and an issue takes 1,000 bytes of memory. Lists of numbers (files) do not count. */
const MAX_VALUES = 100_000;
/** Above this number of values, numbers included, only the first issue is reported. */
const MAX_VALUES_FOR_ALL_ISSUES = 10_000;

type Context = z.core.ParseContextInternal<z.core.$ZodIssue>;
const ALL_ISSUES: Context = { reportInput: true };
/** zod documents `abortEarly` only for its own `validate()`, which does not return the issue. */
const FIRST_ISSUE: Context = { reportInput: true, abortEarly: true };

export function validate<T>(schema: z.ZodType<T>, inputs: unknown): T {
	const { values, numbers } = measure(inputs);
	if (values > MAX_VALUES) throw badInput(`'/' holds more than ${MAX_VALUES} values`);
	try {
		const read = shortRead(schema, inputs);
		if (read !== undefined) return read;
		const listsAll = values + numbers <= MAX_VALUES_FOR_ALL_ISSUES;
		const result = safeParse(schema, inputs, listsAll ? ALL_ISSUES : FIRST_ISSUE);
		if (result.success) return result.data;
		// No `cause`: the issues contain the caller's inputs, and a cause is logged.
		throw badInput(`${describeIssues(result.error.issues, schema, inputs)}`);
	} catch (error) {
		// Deeply nested inputs overflow the stack. No schema here needs such depth.
		if (error instanceof RangeError) throw badInput("'/' is too large or too deeply nested to be checked");
		throw error;
	}
}

/** Counts the values to validate. Stops above the maximum. The items of a list that begins with a number are not read. */
function measure(inputs: unknown): { values: number; numbers: number } {
	let values = 0;
	let numbers = 0;
	const queue = [inputs];
	while (queue.length > 0 && values <= MAX_VALUES) {
		const value = queue.pop();
		if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) continue;
		const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
		if (Array.isArray(value) && typeof value[0] === "number") {
			numbers += value.length;
			continue;
		}
		values += children.length;
		if (values <= MAX_VALUES) for (const child of children) queue.push(child);
	}
	return { values, numbers };
}
