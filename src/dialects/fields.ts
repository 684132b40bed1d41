/** Helpers to build a reader's schema for each model, with the model's own fields and defaults. */
import * as z from "zod";
import type { Model } from "../models/model.ts";
import { readNullAsAbsent } from "../schemas/short-read.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { Reader } from "./dialect.ts";

/**
 * Makes a value once for each model and mode (strict or lenient), for example a schema: building one takes a hundred times as long as
 * parsing a small chat. The value is garbage-collected with its model.
 */
export function perModel<Made>(
	make: (model: Model, strict: boolean) => Made,
): (model: Model, strict?: boolean) => Made {
	const lenientValues = new WeakMap<Model, Made>();
	const strictValues = new WeakMap<Model, Made>();
	return (model, strict = false) => {
		const made = strict ? strictValues : lenientValues;
		const known = made.get(model);
		if (known !== undefined) return known;
		const value = make(model, strict);
		made.set(model, value);
		return value;
	};
}

/** An optional field with the model's default, if the catalogue has a valid one. */
export function defaulted<Schema extends z.ZodType>(
	model: Model,
	field: string,
	schema: Schema,
): z.ZodType<z.output<Schema> | undefined, z.input<Schema> | undefined> {
	const preset = model.defaults[field];
	if (preset === undefined) return schema.optional();
	const parsed = schema.safeParse(preset);
	return parsed.success ? schema.optional().default(parsed.data as never) : schema.optional();
}

/**
 * The schema of a model: the fields of `shape` that the model has, each with the catalogue's default. A field without a
 * default may stay absent; then the reader or the engine chooses its value.
 */
export function modelFields<Shape extends z.ZodRawShape>(
	shape: Shape & Record<string, z.ZodType>,
	model: Model,
): z.ZodObject<Shape> {
	const fields = Object.entries<z.ZodType>(shape)
		.filter(([name]) => !model.inputFields || model.inputFields.includes(name))
		.map(([name, type]) => [name, name in model.defaults ? defaulted(model, name, type) : type]);
	return z.object(Object.fromEntries(fields) as Shape);
}

/** A reader of {@link modelFields}. */
export const fieldsReader = <Shape extends z.ZodRawShape>(
	shape: Shape & Record<string, z.ZodType>,
	read: (inputs: z.output<z.ZodObject<Shape>>, model: Model) => TaskCall,
	body?: Reader["body"],
): Reader => ({ schema: perModel((model) => modelFields(shape, model)), read, ...(body && { body }) });

/**
 * A body on OpenAI's routes: an optional field that is `null` counts as absent, as in OpenAI's schema, and the model's
 * default applies. In the `keepNull` fields `null` has its own meaning.
 */
export const nullAsAbsent = <Shape extends z.ZodRawShape>(
	schema: z.ZodObject<Shape>,
	{ keepNull = [] }: { keepNull?: readonly (keyof Shape & string)[] } = {},
) => {
	const optional = new Set(
		Object.entries<z.core.$ZodType>(schema.shape)
			.filter(([name, field]) => field._zod.optin !== undefined && !keepNull.includes(name))
			.map(([name]) => name),
	);
	const isAbsent = ([name, value]: [string, unknown]): boolean => value === null && optional.has(name);
	const lenient = z.preprocess((sent) => {
		if (typeof sent !== "object" || sent === null || Array.isArray(sent)) return sent;
		const fields = Object.entries(sent);
		return fields.some(isAbsent) ? Object.fromEntries(fields.filter((field) => !isAbsent(field))) : sent;
	}, schema);
	readNullAsAbsent(lenient, schema, (name) => optional.has(name));
	return lenient;
};

type OptionalFields<Fields extends z.ZodRawShape> = { [Name in keyof Fields]: z.ZodOptional<Fields[Name]> };

interface FieldRules<Name> {
	/** Fields that no model of the shape has. */
	without?: readonly Name[];
	/** Fields that a model has if and only if it has another one. `inputFields` does not list them. */
	with?: readonly (readonly [field: Name, other: Name])[];
}

/** The fields that this model has, each of them optional. Defaults stay. */
export function fieldsOf<Fields extends z.ZodRawShape>(
	{ inputFields }: Pick<Model, "inputFields">,
	fields: Fields,
	rules: FieldRules<keyof Fields> = {},
): OptionalFields<Fields> {
	const has = (name: string): boolean => {
		if (rules.without?.includes(name)) return false;
		const [, other] = rules.with?.find(([field]) => field === name) ?? [];
		return !inputFields || inputFields.includes(String(other ?? name));
	};
	const present = Object.entries(fields).filter(([name]) => has(name));
	return Object.fromEntries(
		present.map(([name, field]) => [name, z.optional(field)]),
	) as OptionalFields<Fields>;
}
