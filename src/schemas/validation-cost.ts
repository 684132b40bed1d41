/**
 * Computes the cost of a validation before it runs. The validator visits every alternative, once per reference to it:
 * thirty schemas that each reference the next one twice cause a thousand million visits.
 */
import type { Schema } from "@cfworker/json-schema";
import { isRecord } from "../core/json.ts";

/** Steps of one visit of one schema, including its error messages. */
const VISIT = 300;
/** Different visits, and their depth. The validator overflows the stack at a depth of about 500. */
const MAX_VISITS = 300_000;
const MAX_DEPTH = 250;
const UNBOUNDED = Number.POSITIVE_INFINITY;

interface SchemaFacts {
	/** The target of a `$ref`. */
	target(schema: Schema): Schema | boolean | undefined;
	/** Steps of a regular expression of the schema on a text. */
	pattern(source: string, text: string): number;
}

/** The costs for one value. Schemas and parts of the value are compared by identity. */
export class ValidationCost {
	readonly #facts: SchemaFacts;
	readonly #costs = new Map<Schema, Map<unknown, number>>();
	#visits = 0;

	constructor(facts: SchemaFacts) {
		this.#facts = facts;
	}

	/** Upper bound of the steps; `Infinity` if the validation is endless or too deep. */
	of(value: unknown, schema: unknown, depth = 0): number {
		if (!isRecord(schema)) return VISIT;
		const costs = this.#costs.get(schema) ?? new Map<unknown, number>();
		this.#costs.set(schema, costs);
		const known = costs.get(value);
		if (known !== undefined) return known;
		if (depth > MAX_DEPTH || ++this.#visits > MAX_VISITS) return UNBOUNDED;
		// A second visit of the same pair during this one is a cycle.
		costs.set(value, UNBOUNDED);
		const cost = this.#visit(value, schema, depth + 1);
		costs.set(value, cost);
		return cost;
	}

	#visit(value: unknown, schema: Schema, depth: number): number {
		let sum = VISIT + sizeOf(schema.enum) + sizeOf(schema.required) + sizeOf(schema.properties);
		const add = (part: unknown, checked = value) => {
			if (part !== undefined && sum !== UNBOUNDED) sum += this.of(checked, part, depth);
		};
		if (schema.$ref !== undefined) add(this.#facts.target(schema));
		for (const key of ["not", "if", "then", "else"]) add(schema[key]);
		for (const key of ["allOf", "anyOf", "oneOf"]) for (const part of partsOf(schema[key])) add(part);
		for (const key of ["dependentSchemas", "dependencies"])
			for (const part of partsOf(schema[key])) add(part);

		if (typeof value === "string") {
			if (typeof schema.pattern === "string") sum += this.#facts.pattern(schema.pattern, value);
			sum += value.length;
		} else if (Array.isArray(value)) {
			if (schema.uniqueItems) sum += value.length ** 2;
			for (const [place, member] of value.entries()) {
				for (const key of ["items", "prefixItems"]) {
					const part: unknown = schema[key];
					add(Array.isArray(part) ? part[place] : part, member);
				}
				for (const key of ["additionalItems", "unevaluatedItems", "contains"]) add(schema[key], member);
			}
		} else if (typeof value === "object" && value !== null) {
			const patterned = Object.entries(schema.patternProperties ?? {});
			for (const [key, member] of Object.entries(value)) {
				if (Object.hasOwn(schema.properties ?? {}, key)) add(schema.properties?.[key], member);
				for (const [source, part] of patterned) {
					sum += this.#facts.pattern(source, key);
					add(part, member);
				}
				for (const name of ["additionalProperties", "unevaluatedProperties"]) add(schema[name], member);
				add(schema.propertyNames, key);
			}
		}
		return sum;
	}
}

/** The members of a list or a map of schemas. */
const partsOf = (parts: unknown): unknown[] =>
	typeof parts === "object" && parts !== null ? Object.values(parts) : [];

const sizeOf = (parts: unknown): number =>
	Array.isArray(parts) ? parts.length : isRecord(parts) ? Object.keys(parts).length : 0;
