import type * as z from "zod";

type Context = Parameters<z.ZodType["safeParse"]>[1];

/**
 * zod's `safeParse`, for JSON of a caller or an engine. Use it if the schema limits a length.
 *
 * zod compares the `length` of every value with the limit, even if the value has the wrong type. If `length` is an object with an own
 * `toString` or `valueOf` that is not a function, the comparison can throw a TypeError.
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

/** Makes such objects compare as NaN. Serializers ignore the change. Returns whether there was such an object. */
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
