/**
 * Speeds up zod objects with many optional fields of which a value has few: a chat has forty fields, a request three. zod
 * runs the schema of every field, also of absent ones, which takes longer than the rest of reading a small request.
 *
 * `skipAbsent` makes an object schema skip absent optional fields, whose results zod ignores. Otherwise the schema is
 * unchanged: a value that is not valid is parsed again by zod itself, which writes the issues.
 */
import type * as z from "zod";

interface Field {
	key: string;
	inner: z.core.$ZodType["_zod"];
	/** Has no effect if absent. */
	isOptional: boolean;
}

type Run = z.core.$ZodType["_zod"]["run"];

/** Accepts plain and loose objects without refinements. Changes `schema` in place and returns it. */
export function skipAbsent<Schema extends z.ZodObject>(schema: Schema): Schema {
	const { _zod: own } = schema;
	const { checks = [], catchall } = own.def;
	const isLoose = catchall?._zod.def.type === "unknown";
	if (checks.length > 0 || (catchall && !isLoose))
		throw new TypeError("Only plain and loose objects without refinements can skip absent fields");
	const original: Run = own.run.bind(own);
	let fields: Field[] | undefined;
	const run: Run = (payload, context) => {
		const { value } = payload;
		if (typeof value !== "object" || value === null || Array.isArray(value) || payload.issues.length > 0)
			return original(payload, context);
		// Read on first use, because a schema may contain itself.
		fields ??= fieldsOf(schema);
		const read = readFields(fields, value as Record<string, unknown>, context);
		if (!read) return original(payload, context);
		if (isLoose) copyUnknown(value as Record<string, unknown>, schema.shape, read);
		payload.value = read;
		return payload;
	};
	own.run = run;
	own.parse = run;
	return schema;
}

const fieldsOf = ({ shape }: z.ZodObject): Field[] =>
	Object.entries(shape).map(([key, { _zod: inner }]) => ({
		key,
		inner,
		isOptional: inner.optin === "optional" && inner.optout === "optional",
	}));

/** `undefined` if zod has to report issues, or a field is asynchronous. */
function readFields(
	fields: readonly Field[],
	sent: Record<string, unknown>,
	context: Parameters<Run>[1],
): Record<string, unknown> | undefined {
	const read: Record<string, unknown> = {};
	for (const { key, inner, isOptional } of fields) {
		const isPresent = key in sent;
		if (!isPresent && isOptional) continue;
		const result = inner.run({ value: sent[key], issues: [] }, context);
		if (result instanceof Promise || result.issues.length > 0) return undefined;
		if (!isPresent && inner.optin === undefined) return undefined;
		if (result.value !== undefined || isPresent || hasDefault(inner)) read[key] = result.value;
	}
	return read;
}

const hasDefault = ({ optin, optout }: Field["inner"]): boolean =>
	optin === "defaulted" && optout !== "optional";

function copyUnknown(
	sent: Record<string, unknown>,
	shape: z.ZodRawShape,
	read: Record<string, unknown>,
): void {
	for (const key in sent) if (key !== "__proto__" && !Object.hasOwn(shape, key)) read[key] = sent[key];
}
