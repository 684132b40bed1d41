/** Settings that are an object, or only the text of one of its fields. */
import * as z from "zod";
import { kindOf } from "../schemas/explain.ts";

/** `name`: what the text of `field` is, for the message about another value. */
export const withShortForm = <Fields extends z.ZodRawShape>(
	{ field, name }: { field: keyof Fields & string; name: string },
	fields: Fields,
) =>
	z.preprocess(
		(setting) => (typeof setting === "string" ? { [field]: setting } : setting),
		z.strictObject(fields, {
			error: ({ code, input }) =>
				code === "invalid_type" ? `expected ${name} or an object, found ${kindOf(input)}` : undefined,
		}),
	);
