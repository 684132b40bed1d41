/**
 * A valid document for a JSON Schema, of values that are visibly placeholders: strings such as "simulated name", the
 * number that is nearest to 0, the first member of an enum, `false`. Only what is required is written, so recursive
 * schemas end.
 */
import type { Schema } from "@cfworker/json-schema";
import { COSTLY_PATTERN, type JsonSchema } from "../../schemas/guarded-schema.ts";
import { sample } from "./formats.ts";
import { type Alternative, MAX_ITEMS, MAX_STRING, type SchemaDocument } from "./json-schema.ts";
import { numbersOf } from "./numbers.ts";
import { fromPattern } from "./pattern.ts";

const MAX_DEPTH = 32;
/** Values built for one document, tries included. */
const MAX_STEPS = 20_000;

interface Place {
	/** Name of the property, or of the one whose array this is in. */
	key: string;
	depth: number;
	/** Which of several that may have to differ. */
	nth: number;
	/** The references on the way. */
	refs: string[];
	/** The original schema of the place. An alternative of it is tried. */
	written: JsonSchema;
}

/** Undefined if there is none, or the search takes too long. */
export function placeholder(document: SchemaDocument): { value: unknown } | undefined {
	const root: Place = { key: "", depth: 0, nth: 0, refs: [], written: document.root };
	const value = new Builder(document).build(document.root, root);
	return value === undefined ? undefined : { value };
}

class Builder {
	readonly #document: SchemaDocument;
	#steps = 0;

	constructor(document: SchemaDocument) {
		this.#document = document;
	}

	build(schema: JsonSchema, place: Place): unknown {
		if (place.depth > MAX_DEPTH) return undefined;
		// Alternatives without a repeated reference first: they end a recursion.
		const rounds = ({ refs }: Alternative) => refs.filter((ref) => place.refs.includes(ref)).length;
		const alternatives = this.#document.alternatives(schema).toSorted((a, b) => rounds(a) - rounds(b));
		for (const alternative of alternatives) {
			if (this.#document.isSpent || ++this.#steps > MAX_STEPS) return undefined;
			const refs = [...place.refs, ...alternative.refs];
			const value = this.#valueOf(alternative, { ...place, refs, written: schema });
			if (value !== undefined && this.#document.accepts(value, schema)) return value;
		}
		return undefined;
	}

	#valueOf({ schema, type }: Alternative, place: Place): unknown {
		if (Object.hasOwn(schema, "const")) return schema.const;
		if (Array.isArray(schema.enum)) return this.#member(schema.enum, place);
		switch (type) {
			case "object":
				return this.#object(schema, place);
			case "array":
				return this.#array(schema, place);
			case "string":
				return this.#string(schema, place);
			case "number":
			case "integer":
				return this.#number(schema, place, type === "integer");
			case "boolean":
				return place.nth % 2 === 1;
			case "null":
				return null;
			default:
				return type satisfies never;
		}
	}

	/** Tries the members from the nth one on, cyclically. */
	#member(members: unknown[], { nth, written }: Place): unknown {
		const from = members.length > 0 ? nth % members.length : 0;
		return [...members.slice(from), ...members.slice(0, from)].find((member) =>
			this.#document.accepts(member, written),
		);
	}

	#number(schema: Schema, place: Place, integer: boolean): number {
		const candidates = numbersOf(schema, integer, place.nth);
		return candidates.find((value) => this.#fits(value, schema, place)) ?? place.nth;
	}

	#string(schema: Schema, place: Place): string | undefined {
		const { key, nth } = place;
		const { format = "", maxLength: most = MAX_STRING } = schema;
		const least = Math.min(schema.minLength ?? 0, MAX_STRING);
		const costly: unknown = schema[COSTLY_PATTERN];
		const pattern: unknown = schema.pattern ?? costly;
		const patterned = typeof pattern === "string" ? fromPattern(pattern, least) : undefined;
		// The validator does not run a costly pattern. `matches` runs it on texts that are short enough.
		const fits = (value: string) =>
			this.#fits(value, schema, place) &&
			(typeof costly !== "string" || value === patterned || this.#document.matches(costly, value));
		const mark = nth > 0 ? ` ${nth + 1}` : "";
		const named = Array.from(key === "" ? "simulated" : `simulated ${key}`)
			.slice(0, Math.max(0, most - mark.length))
			.join("")
			.concat(mark);
		const candidates = [
			sample(format, nth),
			named,
			named.padEnd(least, "."),
			typeof pattern === "string" ? fromPattern(pattern, (patterned?.length ?? 0) + nth) : undefined,
			patterned,
			nth.toString(36).slice(-most).padEnd(least, "x"),
		].filter((value) => value !== undefined);
		return candidates.find(fits);
	}

	#fits(value: unknown, schema: Schema, { written }: Place): boolean {
		return this.#document.accepts(value, schema) && this.#document.accepts(value, written);
	}

	/** Undefined as soon as one required property has no value: otherwise all combinations would be tried in vain. */
	#object(schema: Schema, place: Place): Record<string, unknown> | undefined {
		const properties = Object.keys(schema.properties ?? {});
		const required = new Set(schema.required ?? []);
		const values = new Map<string, unknown>();
		const fill = (key: string): boolean => {
			if (values.has(key)) return true;
			const part = this.#document.partOf(schema, key);
			const value = this.build(part, { ...place, key, depth: place.depth + 1, nth: 0 });
			if (value !== undefined) values.set(key, value);
			return value !== undefined;
		};
		for (const key of [...properties.filter((key) => required.has(key)), ...required])
			if (!fill(key)) return undefined;
		for (const [key, others] of Object.entries(schema.dependentRequired ?? {}))
			if (values.has(key) && !others.every(fill)) return undefined;
		const least = Math.min(schema.minProperties ?? 0, MAX_ITEMS);
		for (const key of properties) if (values.size < least) fill(key);
		for (let nth = 1; values.size < least && nth <= least; nth++) if (!fill(extraKey(schema, nth))) break;
		return Object.fromEntries(values);
	}

	#array(schema: Schema, place: Place): unknown[] {
		const tuple: JsonSchema[] = Array.isArray(schema.items) ? schema.items : (schema.prefixItems ?? []);
		const further: JsonSchema = Array.isArray(schema.items)
			? (schema.additionalItems ?? true)
			: (schema.items ?? true);
		const most = Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS);
		const least = Math.min(schema.minItems ?? 0, MAX_ITEMS);
		const items: unknown[] = [];
		const existing = new Set<string>();
		const add = (part: JsonSchema, nth: number): boolean => {
			if (items.length >= most) return false;
			const value = this.build(part, { ...place, depth: place.depth + 1, nth });
			if (value === undefined) return false;
			const text = JSON.stringify(value);
			if (!schema.uniqueItems || !existing.has(text)) items.push(value);
			existing.add(text);
			return true;
		};
		for (const part of tuple) if (!add(part, 0)) break;
		if (schema.contains !== undefined && further !== false) {
			const part = { allOf: [schema.contains, further] as Schema[] };
			const count = Math.min(schema.minContains ?? 1, MAX_ITEMS);
			for (let nth = 0; nth < count; nth++) if (!add(part, nth)) break;
		}
		// With `uniqueItems`, the value may be there already.
		for (let nth = 0; items.length < least && nth < 2 * least; nth++) if (!add(further, nth)) break;
		return items;
	}
}

/** The name of a property beyond those that the schema names. */
function extraKey(schema: Schema, nth: number): string {
	const patterns = Object.keys(schema.patternProperties ?? {});
	const made = patterns.map((pattern) => fromPattern(pattern, 0)).find((key) => key !== undefined);
	return made === undefined ? `simulated${nth}` : nth === 1 ? made : `${made}${nth}`;
}
