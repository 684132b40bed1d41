/**
 * Expands JSON Schemas: a schema with references, combinations and lists of types becomes a list of simple alternatives,
 * each with one type.
 */
import type { Schema } from "@cfworker/json-schema";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { GuardedSchema, isTooLarge, type JsonSchema } from "../../schemas/guarded-schema.ts";

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

/** The longest string that is made. */
export const MAX_STRING = 10_000;
/** A larger `minItems` gives an invalid array, and does not exhaust the Worker. */
export const MAX_ITEMS = 1_000;
/** The limit of alternatives that are tried. */
const MAX_ALTERNATIVES = 24;
/** Schemas looked into for one place: references that lead to many others multiply. */
const MAX_OPENED = 2_000;
/** Properties copied from one schema to another for one document, and what looking into a schema counts for. */
const MAX_MERGED = 2_000_000;
const OPENED = 5;
const TYPES: readonly Type[] = ["object", "array", "string", "number", "boolean", "null"];

export class SchemaDocument {
	readonly root: JsonSchema;
	/** Undefined for a schema that cannot be used: nothing is valid then. */
	readonly #guarded: GuardedSchema | undefined;
	readonly #alternatives = new Map<JsonSchema, readonly Alternative[]>();
	#left = MAX_MERGED;

	/** Throws 5006 for a schema that is too large. */
	constructor(schema: unknown) {
		if (isTooLarge(schema)) throw new AiError("badInput", "Error: a JSON Schema is too large or too deep");
		try {
			this.#guarded = new GuardedSchema(schema, { characters: MAX_STRING, items: MAX_ITEMS });
		} catch {}
		this.root = this.#guarded?.root ?? false;
	}

	/** The time budget is used up: no further value is valid. */
	get isSpent(): boolean {
		return this.#guarded?.isSpent ?? true;
	}

	/** Whether `value` is valid against `schema`, which is the root or a part of it. */
	accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		// Not left to the exception: one costs more than the comparison.
		if (this.isSpent) return false;
		try {
			return this.#guarded?.accepts(value, schema) ?? false;
		} catch (cause) {
			// An unresolved reference restricts nothing. An infinite schema (RangeError) accepts nothing.
			return !(cause instanceof RangeError);
		}
	}

	/** Whether an expression of the schema matches. Not for one that is none, or that takes too long. */
	matches(pattern: string, text: string): boolean {
		return this.#guarded?.matches(pattern, text) ?? false;
	}

	/** The schema of a property of an object. */
	partOf(schema: Schema, key: string): JsonSchema {
		if (schema.properties && Object.hasOwn(schema.properties, key)) return schema.properties[key] ?? true;
		const patterned = Object.entries(schema.patternProperties ?? {});
		return (
			patterned.find(([pattern]) => this.matches(pattern, key))?.[1] ?? schema.additionalProperties ?? true
		);
	}

	/** All alternatives of a schema, in its order. Empty if there is none, or the expansion takes too long. */
	alternatives(schema: JsonSchema): readonly Alternative[] {
		const cached = this.#alternatives.get(schema);
		if (cached) return cached;
		const found = this.#open(schema, [], { left: MAX_OPENED }).flatMap(({ schema, refs }) =>
			typesOf(schema).map((type) => ({
				schema: { ...schema, type },
				type,
				named: schema.type !== undefined,
				refs,
			})),
		);
		this.#alternatives.set(schema, found);
		return found;
	}

	#open(schema: JsonSchema, refs: string[], budget: { left: number }): Opened[] {
		if (schema === true) return [{ schema: {}, refs }];
		this.#left -= OPENED;
		if (schema === false || budget.left-- <= 0 || this.#left <= 0) return [];
		const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...rest } = schema;
		let found: Opened[] = [{ schema: rest as Schema, refs }];
		const both = (others: Opened[]) => {
			found = this.#merged(found, others);
		};
		if (typeof $ref === "string") {
			// A reference to itself, without a part of the document in between, restricts nothing.
			const target = refs.includes($ref) ? undefined : this.#guarded?.target(schema);
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

	/** The combinations of both lists, up to the limit. */
	#merged(some: Opened[], others: Opened[]): Opened[] {
		const found: Opened[] = [];
		for (const one of some)
			for (const other of others) {
				this.#left -= sizeOf(one.schema) + sizeOf(other.schema);
				if (this.#left <= 0) return [];
				const schema = merge(one.schema, other.schema);
				found.push({ schema, refs: [...new Set([...one.refs, ...other.refs])] });
				if (found.length === MAX_ALTERNATIVES) return found;
			}
		return found;
	}
}

interface Opened {
	schema: Schema;
	refs: string[];
}

/** The number of members that are copied one by one. */
const sizeOf = ({ properties = {}, required = [], enum: members = [] }: Schema): number =>
	Object.keys(properties).length + required.length + members.length;

/** The types that a schema allows. Without `type`, its other keywords imply one. */
function typesOf(schema: Schema): Type[] {
	const { type } = schema;
	if (Array.isArray(type)) return type;
	if (type !== undefined) return [type];
	if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOf))];
	if (Object.hasOwn(schema, "const")) return [typeOf(schema.const)];
	const has = (...keywords: string[]) => keywords.some((keyword) => Object.hasOwn(schema, keyword));
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

/** A schema for both. Of keywords that cannot be combined (two patterns, two formats) the first is kept; the validator checks the result. */
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
	if (a.enum && b.enum) {
		const others = new Set(b.enum.map((value: unknown) => JSON.stringify(value)));
		merged.enum = a.enum.filter((value) => others.has(JSON.stringify(value)));
	}
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
		const ours = own(a, key);
		return [key, ours === undefined ? schema : { allOf: [ours, schema] as Schema[] }];
	});
	return { ...a, ...Object.fromEntries(entries) };
}

function commonMultiple(a: number, b: number): number {
	if (!Number.isInteger(a) || !Number.isInteger(b)) return Math.max(a, b);
	let [x, y] = [a, b];
	while (y !== 0) [x, y] = [y, x % y];
	return (a * b) / x;
}
