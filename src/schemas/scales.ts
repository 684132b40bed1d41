/**
 * The work that the validator does for a value, counted before it does it. It goes through all alternatives, each as
 * often as references lead there: thirty schemas that each name the next one twice are a thousand million visits.
 */
import type { Schema } from "@cfworker/json-schema";

type JsonSchema = Schema | boolean;

/** Steps of one visit to one schema, what goes wrong there written down. */
const VISIT = 300;
/** Different visits that are counted; and how deep one may lie in another, where the validator's stack ends at about 500. */
const MAX_VISITS = 300_000;
const MAX_DEPTH = 250;
const ENDLESS = Number.POSITIVE_INFINITY;

interface Known {
	/** What a `$ref` leads to. */
	target(schema: Schema): JsonSchema | undefined;
	/** Steps of an expression of the schema for a text. */
	pattern(source: string, text: string): number;
}

/** Serves one value: schemas and parts of values are told apart by identity. */
export class Scales {
	readonly #known: Known;
	readonly #weights = new Map<Schema, Map<unknown, number>>();
	#visits = 0;

	constructor(known: Known) {
		this.#known = known;
	}

	/** Steps at the most; `Infinity` where it never ends, or goes too deep. */
	weigh(value: unknown, schema: unknown, depth = 0): number {
		if (!isSchema(schema)) return VISIT;
		const weights = this.#weights.get(schema) ?? new Map<unknown, number>();
		this.#weights.set(schema, weights);
		const known = weights.get(value);
		if (known !== undefined) return known;
		if (depth > MAX_DEPTH || ++this.#visits > MAX_VISITS) return ENDLESS;
		// Whoever comes here again on the way goes in a circle.
		weights.set(value, ENDLESS);
		const weight = this.#visit(value, schema, depth + 1);
		weights.set(value, weight);
		return weight;
	}

	#visit(value: unknown, schema: Schema, depth: number): number {
		let sum = VISIT + sizeOf(schema.enum) + sizeOf(schema.required) + sizeOf(schema.properties);
		const add = (part: unknown, of = value) => {
			if (part !== undefined && sum !== ENDLESS) sum += this.weigh(of, part, depth);
		};
		if (schema.$ref !== undefined) add(this.#known.target(schema));
		for (const key of ["not", "if", "then", "else"]) add(schema[key]);
		for (const key of ["allOf", "anyOf", "oneOf"]) for (const part of partsOf(schema[key])) add(part);
		for (const key of ["dependentSchemas", "dependencies"])
			for (const part of partsOf(schema[key])) add(part);

		if (typeof value === "string") {
			if (typeof schema.pattern === "string") sum += this.#known.pattern(schema.pattern, value);
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
					sum += this.#known.pattern(source, key);
					add(part, member);
				}
				for (const name of ["additionalProperties", "unevaluatedProperties"]) add(schema[name], member);
				add(schema.propertyNames, key);
			}
		}
		return sum;
	}
}

const isSchema = (value: unknown): value is Schema =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The members of a list or a map of schemas. */
const partsOf = (parts: unknown): unknown[] =>
	typeof parts === "object" && parts !== null ? Object.values(parts) : [];

const sizeOf = (parts: unknown): number =>
	Array.isArray(parts) ? parts.length : isSchema(parts) ? Object.keys(parts).length : 0;
