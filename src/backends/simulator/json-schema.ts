/**
 * JSON Schemas opened up: a schema with references, combinations and lists of types becomes the plain alternatives
 * that it allows, each with one type. Validation is `@cfworker/json-schema`'s.
 */
import { dereference, type Schema, validate } from "@cfworker/json-schema";
import { isCostly } from "./pattern.ts";

export type JsonSchema = Schema | boolean;
export type Type = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

/** A schema without `$ref`, `allOf`, `anyOf`, `oneOf`, `if` and lists of types. */
export interface Alternative {
	schema: Schema;
	type: Type;
	/** Whether the schema names the type, or it was guessed. */
	named: boolean;
	/** The references on the way to it. */
	refs: string[];
}

/** Where a schema's pattern went if it is too costly to run. */
export const COSTLY_PATTERN = "x-costly-pattern";
/** More ways than this are not tried. */
const MAX_ALTERNATIVES = 24;
/** Schemas looked into for one place: references that lead to many others multiply. */
const MAX_OPENED = 2_000;
const TYPES: readonly Type[] = ["object", "array", "string", "number", "boolean", "null"];

export class SchemaDocument {
	readonly root: JsonSchema;
	readonly #lookup: Record<string, JsonSchema> | undefined;
	readonly #draft: "2020-12" | "7";

	/** Works on a copy: the validator writes into the schemas that it is given. */
	constructor(schema: unknown) {
		this.root = isSchema(schema) ? (JSON.parse(JSON.stringify(schema), harmless) as JsonSchema) : true;
		this.#draft = JSON.stringify(this.root).includes('"items":[') ? "7" : "2020-12";
		try {
			this.#lookup = dereference(this.root);
		} catch {
			this.#lookup = undefined;
		}
	}

	/** Whether `value` is valid against `schema`, which is the root or a part of it. */
	accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		if (!this.#lookup) return true;
		try {
			return validate(value, schema, this.#draft, this.#lookup).valid;
		} catch {
			// A reference that leads nowhere; there is nothing to hold the value against.
			return true;
		}
	}

	/** Every way to satisfy a schema, in its order; empty where there is none. */
	alternatives(schema: JsonSchema): Alternative[] {
		return this.#open(schema, [], { left: MAX_OPENED }).flatMap(({ schema, refs }) =>
			typesOf(schema).map((type) => ({
				schema: { ...schema, type },
				type,
				named: schema.type !== undefined,
				refs,
			})),
		);
	}

	#open(schema: JsonSchema, refs: string[], budget: { left: number }): { schema: Schema; refs: string[] }[] {
		if (schema === true) return [{ schema: {}, refs }];
		if (schema === false || budget.left-- <= 0) return [];
		const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...rest } = schema;
		let found = [{ schema: rest as Schema, refs }];
		const both = (others: { schema: Schema; refs: string[] }[]) => {
			found = found
				.flatMap((one) =>
					others.map((other) => ({
						schema: merge(one.schema, other.schema),
						refs: [...new Set([...one.refs, ...other.refs])],
					})),
				)
				.slice(0, MAX_ALTERNATIVES);
		};
		if (typeof $ref === "string") {
			// A reference that leads back to itself, with no part of a document in between, says nothing.
			const target = refs.includes($ref) ? undefined : this.#resolve($ref);
			both(target === undefined ? [] : this.#open(target, [...refs, $ref], budget));
		}
		for (const part of allOf ?? []) both(this.#open(part, refs, budget));
		for (const options of [anyOf, oneOf])
			if (options) both(options.flatMap((option) => this.#open(option, refs, budget)));
		if (condition !== undefined) {
			const holds = this.#open({ allOf: [condition, then ?? {}] }, refs, budget);
			both([...holds, ...this.#open(otherwise ?? {}, refs, budget)]);
		}
		return found;
	}

	/** `#/$defs/x`, `#`, `#anchor`, or the `$id` of a part. */
	#resolve(reference: string): JsonSchema | undefined {
		if (reference === "#") return this.root;
		if (reference.startsWith("#/")) {
			let at: unknown = this.root;
			for (const part of reference.slice(2).split("/")) {
				const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
				if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
				at = (at as Record<string, unknown>)[key];
			}
			return isSchema(at) ? at : undefined;
		}
		const end = Object.keys(this.#lookup ?? {}).find((uri) => uri.endsWith(reference));
		return end === undefined ? undefined : this.#lookup?.[end];
	}
}

const isSchema = (value: unknown): value is JsonSchema =>
	typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value));

/** An expression that could keep the validator busy for ever is put aside: written for, not held against anything. */
function harmless(this: Record<string, unknown>, key: string, value: unknown): unknown {
	if (key !== "pattern" || typeof value !== "string" || !isCostly(value)) return value;
	this[COSTLY_PATTERN] = value;
	return undefined;
}

function decode(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

/** The types that a schema allows, the one that its other words speak of first. */
function typesOf(schema: Schema): Type[] {
	const { type } = schema;
	if (Array.isArray(type)) return type;
	if (type !== undefined) return [type];
	if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOf))];
	if (Object.hasOwn(schema, "const")) return [typeOf(schema.const)];
	const has = (...words: string[]) => words.some((word) => Object.hasOwn(schema, word));
	if (has("properties", "required", "additionalProperties", "minProperties", "patternProperties"))
		return ["object"];
	if (has("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")) return ["array"];
	if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return ["number"];
	if (has("format", "pattern", "minLength", "maxLength")) return ["string"];
	return ["string", ...TYPES.filter((other) => other !== "string")];
}

export function typeOf(value: unknown): Type {
	if (value === null) return "null";
	if (Array.isArray(value)) return "array";
	if (typeof value === "number") return "number";
	if (typeof value === "boolean") return "boolean";
	return typeof value === "object" ? "object" : "string";
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Both at once. What cannot be joined (two patterns, two formats) keeps the first; the validator has the last word. */
function merge(a: Schema, b: Schema): Schema {
	const merged: Schema = { ...b, ...a };
	if (a.type !== undefined && b.type !== undefined) {
		const [left, right] = [[a.type].flat(), [b.type].flat()];
		merged.type = [
			...left.filter((type) => right.includes(type) || (type === "integer" && right.includes("number"))),
			...(left.includes("number") && !right.includes("number") && right.includes("integer")
				? ["integer" as const]
				: []),
		];
	}
	if (a.enum && b.enum) merged.enum = a.enum.filter((value) => b.enum?.some((other) => same(value, other)));
	if (a.required && b.required) merged.required = [...new Set([...a.required, ...b.required])];
	if (a.properties && b.properties) merged.properties = mergeParts(a.properties, b.properties);
	if (a.items && b.items && !Array.isArray(a.items) && !Array.isArray(b.items))
		merged.items = { allOf: [a.items, b.items] as Schema[] };
	for (const least of ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"])
		if (typeof a[least] === "number" && typeof b[least] === "number")
			merged[least] = Math.max(a[least], b[least]);
	for (const most of ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"])
		if (typeof a[most] === "number" && typeof b[most] === "number") merged[most] = Math.min(a[most], b[most]);
	if (a.multipleOf && b.multipleOf) merged.multipleOf = commonMultiple(a.multipleOf, b.multipleOf);
	if (a.additionalProperties === false || b.additionalProperties === false)
		merged.additionalProperties = false;
	return merged;
}

function mergeParts(
	a: Record<string, JsonSchema>,
	b: Record<string, JsonSchema>,
): Record<string, JsonSchema> {
	const entries = Object.entries(b).map(([key, schema]): [string, JsonSchema] => {
		const own = Object.hasOwn(a, key) ? a[key] : undefined;
		return [key, own === undefined ? schema : { allOf: [own, schema] as Schema[] }];
	});
	return { ...a, ...Object.fromEntries(entries) };
}

function commonMultiple(a: number, b: number): number {
	if (!Number.isInteger(a) || !Number.isInteger(b)) return Math.max(a, b);
	let [x, y] = [a, b];
	while (y !== 0) [x, y] = [y, x % y];
	return (a * b) / x;
}
