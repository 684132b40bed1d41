/**
 * A caller's JSON Schema that is safe to hold values against. `@cfworker/json-schema` runs every expression that it
 * finds, follows every reference, and stops for nothing; so what may take too long is taken out of a copy, and the work
 * for a value is counted before it is done. A copy accepts at least what the schema does.
 */
import { dereference, type Schema, type SchemaDraft, validate } from "@cfworker/json-schema";
import { isRecord } from "../json.ts";
import { isWellFormed, SCHEMA_LISTS } from "./keywords.ts";
import { Pattern } from "./pattern.ts";
import { Scales } from "./scales.ts";

export type JsonSchema = Schema | boolean;

/** Where a schema's pattern is in the copy if it is too costly to run. */
export const COSTLY_PATTERN = "x-costly-pattern";

/** Levels of JSON in a schema. Two make one level of a document. */
const MAX_DEPTH = 128;
const MAX_NODES = 50_000;
/** Of all paths to all nodes together: the validator keeps each. */
const MAX_PATHS_CHARACTERS = 4_000_000;
/** Each member is compared with each other. */
const MAX_UNIQUE_ITEMS = 2_000;
/** Different expressions that are looked into; of others nobody can say what they cost. */
const MAX_PATTERNS = 100;
/** Steps for all values together, each some nanoseconds. */
const MAX_STEPS = 50_000_000;

/** What the longest values are that the schema will be held against. */
export interface Longest {
	characters: number;
	items: number;
}

export class GuardedSchema {
	readonly root: JsonSchema;
	readonly #lookup: Record<string, JsonSchema>;
	readonly #draft: SchemaDraft;
	readonly #patterns = new Map<string, Pattern>();
	#left = MAX_STEPS;

	/** Throws for a schema that {@link isTooLarge}, and for references that are no addresses. */
	constructor(schema: unknown, longest: Longest) {
		if (isTooLarge(schema)) throw new RangeError("The schema is too large");
		const cheap = (source: string) => this.#pattern(source).isCheap(longest.characters);
		const whole = new Copy(longest, cheap, false);
		const root = whole.of(schema);
		this.root = whole.leavesOut ? new Copy(longest, cheap, true).of(schema) : root;
		this.#draft = draftOf(this.root);
		this.#lookup = dereference(this.root);
	}

	/** Whether there is no time for any further value. */
	get isSpent(): boolean {
		return this.#left < 0;
	}

	/** Whether `value` is valid against `schema`, the root or a part of it. Throws where there is no telling. */
	accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		if (!this.isSpent)
			this.#left -= new Scales({
				target: (part) => this.target(part),
				pattern: (source, text) => this.#pattern(source).steps(text.length),
			}).weigh(value, schema);
		if (this.isSpent) throw new RangeError("Holding values against the schema takes too long");
		return validate(value, schema, this.#draft, this.#lookup).valid;
	}

	/** What the `$ref` of a part of the schema leads to. */
	target({ $ref, __absolute_ref__: address = $ref }: Schema): JsonSchema | undefined {
		return address === undefined ? undefined : this.#lookup[address];
	}

	/** Whether an expression of the schema matches; undefined for what is none, or where finding out takes too long. */
	matches(source: string, text: string): boolean | undefined {
		return this.#pattern(source).matches(text);
	}

	#pattern(source: string): Pattern {
		const known = this.#patterns.get(source) ?? new Pattern(source, this.#patterns.size < MAX_PATTERNS);
		this.#patterns.set(source, known);
		return known;
	}
}

const DRAFTS: readonly [part: string, draft: SchemaDraft][] = [
	["draft-04", "4"],
	["draft-06", "7"],
	["draft-07", "7"],
	["2019-09", "2019-09"],
];

const draftOf = (schema: JsonSchema): SchemaDraft => {
	const named: unknown = typeof schema === "object" ? schema.$schema : undefined;
	return DRAFTS.find(([part]) => typeof named === "string" && named.includes(part))?.[1] ?? "2020-12";
};

/** Whether a schema is beyond any use: everything that reads it may go as deep as it does. */
export function isTooLarge(schema: unknown): boolean {
	const left: [value: unknown, depth: number, path: number][] = [[schema, 0, 0]];
	let [nodes, paths] = [0, 0];
	for (let next = left.pop(); next; next = left.pop()) {
		const [value, depth, path] = next;
		if (typeof value !== "object" || value === null) continue;
		nodes++;
		paths += path;
		if (depth > MAX_DEPTH || nodes > MAX_NODES || paths > MAX_PATHS_CHARACTERS) return true;
		for (const [key, inner] of Object.entries(value)) left.push([inner, depth + 1, path + key.length + 1]);
	}
	return false;
}

// What stands under these is data, or names schemas by keys of the caller's.
const DATA = new Set(["const", "enum", "default", "required", "dependentRequired", "type"]);
const MAPS = new Set([
	"$defs",
	"definitions",
	"properties",
	"patternProperties",
	"dependentSchemas",
	"dependencies",
]);
/** No format of JSON Schema. The validator's expression for it tries every way to cut a word in two. */
const COSTLY_FORMAT = "url";
/** What it is nearest to, of what the validator does not check. */
const UNCHECKED_FORMAT = "iri";

/** One copy of a schema. */
class Copy {
	/** Whether something that a value would have been held against is not in the copy. */
	leavesOut = false;
	readonly #longest: Longest;
	readonly #cheap: (pattern: string) => boolean;
	readonly #refsAreLoose: boolean;
	/** Parts of the copy that accept more than they did. */
	readonly #loose = new Set<unknown>();

	/** `refsAreLoose`: what a reference leads to may have lost something. */
	constructor(longest: Longest, cheap: (pattern: string) => boolean, refsAreLoose: boolean) {
		this.#longest = longest;
		this.#cheap = cheap;
		this.#refsAreLoose = refsAreLoose;
	}

	of(schema: unknown): JsonSchema {
		if (!isRecord(schema)) return schema !== false;
		const copy: Schema = Object.fromEntries(
			Object.entries(schema)
				.filter(([key, value]) => isWellFormed(key, value))
				.map(([key, value]) => [key, DATA.has(key) ? value : this.#value(key, value)]),
		);
		let isLoose = this.#refsAreLoose && copy.$ref !== undefined;
		for (const [key, value] of Object.entries(copy)) isLoose ||= !DATA.has(key) && this.#isLoose(value);
		const leaveOut = (...keys: string[]) => {
			for (const key of keys) delete copy[key];
			this.leavesOut = isLoose = true;
		};
		const { pattern, format, patternProperties: patterned, uniqueItems, $recursiveRef } = copy;
		if (typeof pattern === "string" && !this.#cheap(pattern)) {
			leaveOut("pattern");
			copy[COSTLY_PATTERN] = pattern;
		}
		if (format === COSTLY_FORMAT) {
			leaveOut("format");
			copy.format = UNCHECKED_FORMAT;
		}
		if (uniqueItems && this.#longest.items > MAX_UNIQUE_ITEMS) leaveOut("uniqueItems");
		if ($recursiveRef !== undefined) leaveOut("$recursiveRef");
		const costly = Object.keys(patterned ?? {}).filter((source) => !this.#cheap(source));
		if (patterned && costly.length > 0) {
			// The properties that it was for are now like any other.
			leaveOut("additionalProperties");
			for (const source of costly) delete patterned[source];
		}
		if (isLoose) {
			this.#loose.add(copy);
			this.#loosen(copy);
		}
		return copy;
	}

	#value(key: string, value: unknown): unknown {
		if (Array.isArray(value))
			return key === "examples" ? value : value.map((part) => this.#part(part, SCHEMA_LISTS.has(key)));
		if (!isRecord(value)) return value;
		if (!MAPS.has(key)) return this.of(value);
		return Object.fromEntries(
			Object.entries(value).map(([name, part]) => [name, this.#part(part, !Array.isArray(part))]),
		);
	}

	/** A member of a list or a map. Where it has to be a schema and is none, it accepts everything. */
	#part(part: unknown, isSchema: boolean): unknown {
		return isSchema || isRecord(part) ? this.of(part) : part;
	}

	#isLoose(value: unknown): boolean {
		if (typeof value !== "object" || value === null) return false;
		return this.#loose.has(value) || Object.values(value).some((part) => this.#loose.has(part));
	}

	/** What accepts less where a part of it accepts more. */
	#loosen(copy: Schema): void {
		if (this.#isLoose(copy.not)) delete copy.not;
		if (this.#isLoose(copy.if)) for (const key of ["if", "then", "else"]) delete copy[key];
		if (this.#isLoose(copy.contains)) delete copy.maxContains;
		delete copy.unevaluatedProperties;
		delete copy.unevaluatedItems;
		if (!copy.oneOf || !this.#isLoose(copy.oneOf)) return;
		copy.allOf = [...(copy.allOf ?? []), { anyOf: copy.oneOf }];
		delete copy.oneOf;
	}
}
