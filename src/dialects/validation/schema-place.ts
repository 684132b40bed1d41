/** Finds the zod schema of one place in the inputs, which zod's issues do not contain. */
import type { z } from "zod";
import { own } from "../../core/own.ts";

export type ZodSchema = z.core.$ZodType;
export type Path = readonly PropertyKey[];

/** A schema and the part of the inputs that it applies to. The value determines the branch of a union. */
export interface SchemaPlace {
	schema: ZodSchema | undefined;
	value: unknown;
}

export function placeAt(place: SchemaPlace, path: Path): SchemaPlace {
	return path.reduce<SchemaPlace>(({ schema, value }, key) => {
		const child = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
		return { schema: schema && childOf(schema, key, value), value: child };
	}, place);
}

/** The required properties of an object at this place, in the schema's order. Empty for other schemas. */
export function requiredKeys({ schema, value }: SchemaPlace): string[] {
	if (!schema) return [];
	const { def } = unwrap(schema)._zod;
	switch (def.type) {
		case "object":
			return Object.keys(def.shape).filter((key) => def.shape[key]?._zod.optin === undefined);
		case "intersection":
			return [def.left, def.right].flatMap((side) => requiredKeys({ schema: side, value }));
		case "union": {
			const option = discriminated(def, value);
			return option ? requiredKeys({ schema: option, value }) : [];
		}
		default:
			return [];
	}
}

/** JSON Schema's names of the accepted types. Empty if the schema does not determine them. */
export function acceptedTypes(schema: ZodSchema | undefined): string[] {
	if (!schema) return [];
	const inner = wrappedSchema(schema);
	const { def } = zodType(schema)._zod;
	if (inner)
		return def.type === "nullable" ? unique([...acceptedTypes(inner), "null"]) : acceptedTypes(inner);
	switch (def.type) {
		case "string":
		case "boolean":
		case "array":
		case "object":
		case "null":
			return [def.type];
		case "number":
			return [isInteger(def) ? "integer" : "number"];
		case "record":
			return ["object"];
		case "tuple":
			return ["array"];
		case "enum":
			return unique(Object.values(def.entries).map((value) => typeof value));
		case "literal":
			return unique(def.values.map((value) => (value === null ? "null" : typeof value)));
		case "union":
			return unique(def.options.flatMap(acceptedTypes));
		case "intersection":
			return acceptedTypes(def.left);
		default:
			return [];
	}
}

/** `z.int()` is a format, `z.number().int()` a check. */
const isInteger = (def: z.core.$ZodTypeDef): boolean =>
	[def, ...(def.checks ?? []).map((check) => check._zod.def)].some(
		(each) => "format" in each && String(each.format).includes("int"),
	);

interface Union {
	options: readonly ZodSchema[];
	/** Whether exactly one option may match: `oneOf`, not `anyOf`. */
	exclusive: boolean;
}

export function unionOf(schema: ZodSchema | undefined): Union | undefined {
	if (!schema) return undefined;
	const { def } = unwrap(schema)._zod;
	if (def.type !== "union") return undefined;
	return { options: def.options, exclusive: def.inclusive === false && !("discriminator" in def) };
}

type UnionDef = Extract<z.core.$ZodTypes["_zod"]["def"], { type: "union" }>;

/** Every schema is an instance of one of zod's classes. `def.type` distinguishes them. */
const zodType = (schema: ZodSchema): z.core.$ZodTypes => schema as z.core.$ZodTypes;

/** The schema without its wrappers. */
function unwrap(schema: ZodSchema): z.core.$ZodTypes {
	const inner = wrappedSchema(schema);
	return inner ? unwrap(inner) : zodType(schema);
}

/** The inner schema of an optional, a default, a lazy, …. `undefined` for a schema that wraps none. */
function wrappedSchema(schema: ZodSchema): ZodSchema | undefined {
	const { def } = zodType(schema)._zod;
	switch (def.type) {
		case "optional":
		case "nullable":
		case "default":
		case "prefault":
		case "nonoptional":
		case "catch":
		case "readonly":
			return def.innerType;
		case "lazy":
			return def.getter();
		case "pipe":
			// The side that constrains the input. A transform or an open schema in front does not.
			return ["transform", "unknown", "any"].includes(def.in._zod.def.type) ? def.out : def.in;
		default:
			return undefined;
	}
}

function childOf(schema: ZodSchema, key: PropertyKey, value: unknown): ZodSchema | undefined {
	const { def } = unwrap(schema)._zod;
	switch (def.type) {
		case "object":
			return (typeof key === "string" ? own(def.shape, key) : undefined) ?? def.catchall;
		case "array":
			return def.element;
		case "record":
			return def.valueType;
		case "tuple":
			return (typeof key === "number" ? def.items[key] : undefined) ?? def.rest ?? undefined;
		case "intersection":
			return childOf(def.left, key, value) ?? childOf(def.right, key, value);
		case "union": {
			const option = discriminated(def, value);
			if (option) return childOf(option, key, value);
			return def.options.map((each) => childOf(each, key, value)).find((child) => child !== undefined);
		}
		default:
			return undefined;
	}
}

/** The option of a discriminated union for the value. */
function discriminated(def: UnionDef, value: unknown): ZodSchema | undefined {
	if (!("discriminator" in def) || typeof value !== "object" || value === null) return undefined;
	const { discriminator } = def as z.core.$ZodDiscriminatedUnionDef;
	const tag: unknown = Reflect.get(value, discriminator);
	return def.options.find((option) =>
		option._zod.propValues?.[discriminator]?.has(tag as z.core.util.Primitive),
	);
}

export const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
