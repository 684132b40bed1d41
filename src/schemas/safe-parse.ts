import type * as z from "zod";

type Context = Parameters<z.ZodType["safeParse"]>[1];

/**
 * zod's `safeParse`, for JSON that a caller or an engine sent. Use it if the schema bounds a length.
 *
 * zod compares the `length` of any value with such a bound, also of a value with the wrong type. An object whose own `toString`
 * or `valueOf` is data cannot be compared, and zod throws a TypeError.
 */
export function safeParse<Schema extends z.ZodType>(
	schema: Schema,
	value: unknown,
	context?: Context,
): z.ZodSafeParseResult<z.output<Schema>> {
	try {
		return schema.safeParse(value, context);
	} catch (error) {
		if (error instanceof TypeError && makeComparable(value)) return schema.safeParse(value, context);
		throw error;
	}
}

/** Makes the objects that cannot be compared NaN in comparisons. Serializers ignore it. Returns whether there was such an object. */
function makeComparable(root: unknown): boolean {
	let found = false;
	const queue = [root];
	while (queue.length > 0) {
		const value = queue.pop();
		if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) continue;
		const isOpaque = Object.hasOwn(value, "toString") || Object.hasOwn(value, "valueOf");
		if (isOpaque && !Object.hasOwn(value, Symbol.toPrimitive)) {
			Object.defineProperty(value, Symbol.toPrimitive, { value: () => Number.NaN });
			found = true;
		}
		for (const child of Object.values(value)) queue.push(child);
	}
	return found;
}
