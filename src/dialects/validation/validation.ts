/** The caller's inputs against a dialect's schema; what does not fit is refused as 5006, in the product's words. */
import type { z } from "zod";
import { AiError } from "../../core/errors.ts";
import { describeFaults } from "./findings.ts";

/** Each may be a fault, and a fault takes a thousand bytes until it is told. Lists of numbers, which are files, are free. */
const MAX_VALUES = 100_000;
/** Above so many values, numbers included, the first fault is the answer, not a list. */
const MAX_VALUES_SEARCHED_ON = 10_000;

type Context = z.core.ParseContextInternal<z.core.$ZodIssue>;
const ALL_FAULTS: Context = { reportInput: true };
/** zod keeps `abortEarly` for its own `validate()`, which does not say what the fault was. */
const FIRST_FAULT: Context = { reportInput: true, abortEarly: true };

export function validate<T>(schema: z.ZodType<T>, inputs: unknown): T {
	try {
		return check(schema, inputs);
	} catch (error) {
		if (error instanceof TypeError && makeComparable(inputs)) return check(schema, inputs);
		throw error;
	}
}

function check<T>(schema: z.ZodType<T>, inputs: unknown): T {
	const { values, numbers } = measure(inputs);
	if (values > MAX_VALUES) throw new AiError("badInput", `Error: '/' holds more than ${MAX_VALUES} values`);
	try {
		const few = values + numbers <= MAX_VALUES_SEARCHED_ON;
		const result = schema.safeParse(inputs, few ? ALL_FAULTS : FIRST_FAULT);
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

/** How much there is to check. Stops when it is too much; a list that begins with a number is not looked through. */
function measure(inputs: unknown): { values: number; numbers: number } {
	let values = 0;
	let numbers = 0;
	const open = [inputs];
	while (open.length > 0 && values <= MAX_VALUES) {
		const value = open.pop();
		if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) continue;
		const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
		if (Array.isArray(value) && typeof value[0] === "number") {
			numbers += value.length;
			continue;
		}
		values += children.length;
		if (values <= MAX_VALUES) for (const child of children) open.push(child);
	}
	return { values, numbers };
}

/**
 * zod compares `length` of whatever it finds with a bound, also of a value that has already failed its type. An object
 * whose own `toString` or `valueOf` is data cannot be compared and throws a TypeError. Here such objects become NaN in
 * comparisons; no serializer sees that. Returns whether there was one.
 */
function makeComparable(inputs: unknown): boolean {
	let found = false;
	const open = [inputs];
	while (open.length > 0) {
		const value = open.pop();
		if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) continue;
		const isOpaque = Object.hasOwn(value, "toString") || Object.hasOwn(value, "valueOf");
		if (isOpaque && !Object.hasOwn(value, Symbol.toPrimitive)) {
			Object.defineProperty(value, Symbol.toPrimitive, { value: () => Number.NaN });
			found = true;
		}
		for (const child of Object.values(value)) open.push(child);
	}
	return found;
}
