/**
 * Schemas of objects with many fields, of which each value has few: a chat has forty, a request three. zod asks the
 * schema of every field, sent or not, which takes longer than all else that is done to read a small request.
 *
 * A schema made lean does not ask for the fields that are not there and may be absent: zod takes no notice of what
 * those say. It is the same schema otherwise. What does not fit is left to zod, from the beginning, for its own words.
 */
import type * as z from "zod";

interface Field {
	key: string;
	inner: z.core.$ZodType["_zod"];
	/** Says nothing where it is absent. */
	skipped: boolean;
}

type Run = z.core.$ZodType["_zod"]["run"];

/** Takes objects without refinements that drop the fields they do not know, or keep them as they are. Gives back `schema`. */
export function lean<Schema extends z.ZodObject>(schema: Schema): Schema {
	const { _zod: own } = schema;
	const { checks = [], catchall } = own.def;
	const keepsOthers = catchall?._zod.def.type === "unknown";
	if (checks.length > 0 || (catchall && !keepsOthers))
		throw new TypeError("Only plain and loose objects can be made lean");
	const whole: Run = own.run.bind(own);
	let fields: Field[] | undefined;
	const run: Run = (payload, context) => {
		const { value } = payload;
		if (typeof value !== "object" || value === null || Array.isArray(value) || payload.issues.length > 0)
			return whole(payload, context);
		// Not before: a schema may be one of itself.
		fields ??= fieldsOf(schema);
		const read = readFields(fields, value as Record<string, unknown>, context);
		if (!read) return whole(payload, context);
		if (keepsOthers) keepOthers(value as Record<string, unknown>, schema.shape, read);
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
		skipped: inner.optin === "optional" && inner.optout === "optional",
	}));

/** `undefined`: zod has something to say. */
function readFields(
	fields: readonly Field[],
	sent: Record<string, unknown>,
	context: Parameters<Run>[1],
): Record<string, unknown> | undefined {
	const read: Record<string, unknown> = {};
	for (const { key, inner, skipped } of fields) {
		const isPresent = key in sent;
		if (!isPresent && skipped) continue;
		const result = inner.run({ value: sent[key], issues: [] }, context);
		if (result instanceof Promise || result.issues.length > 0) return undefined;
		if (!isPresent && inner.optin === undefined) return undefined;
		if (result.value !== undefined || isPresent || isSubstituted(inner)) read[key] = result.value;
	}
	return read;
}

const isSubstituted = ({ optin, optout }: Field["inner"]): boolean =>
	optin === "defaulted" && optout !== "optional";

function keepOthers(
	sent: Record<string, unknown>,
	shape: z.ZodRawShape,
	read: Record<string, unknown>,
): void {
	for (const key in sent) if (key !== "__proto__" && !Object.hasOwn(shape, key)) read[key] = sent[key];
}
