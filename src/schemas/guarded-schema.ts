/**
 * Validates values against a caller's JSON Schema in bounded time. `@cfworker/json-schema` runs every regular expression,
 * follows every reference and has no time limit. So expensive parts are removed from a copy of the schema, and the cost of
 * each validation is computed before it runs. The copy accepts at least the values that the schema accepts.
 */
import { dereference, type Schema, type SchemaDraft, validate } from "@cfworker/json-schema";
import { isRecord } from "../core/json.ts";
import { isWellFormed, SCHEMA_LISTS } from "./keywords.ts";
import { Pattern } from "./pattern.ts";
import { ValidationCost } from "./validation-cost.ts";

export type JsonSchema = Schema | boolean;

/** The key in the copy under which a pattern is kept that is too expensive to run. */
export const COSTLY_PATTERN = "x-costly-pattern";

/** Levels of JSON in a schema. Two levels describe one level of a document. */
const MAX_DEPTH = 128;
const MAX_NODES = 50_000;
/** Sum of the lengths of all paths to all nodes: the validator stores each path. */
const MAX_PATHS_CHARACTERS = 4_000_000;
/** Every pair of members is compared. */
const MAX_UNIQUE_ITEMS = 2_000;
/** Different expressions whose cost is computed. The cost of further ones counts as unknown. */
const MAX_PATTERNS = 100;
/** Steps of all validations together. One step takes a few nanoseconds. */
const MAX_STEPS = 50_000_000;

/** The longest text and the longest list that will be validated. */
export interface Longest {
	characters: number;
	items: number;
}

export class GuardedSchema {
	readonly root: JsonSchema;
	readonly #lookup: Record<string, JsonSchema>;
	readonly #draft: SchemaDraft;
	readonly #patterns = new Map<string, Pattern>();
	#stepsLeft = MAX_STEPS;

	/** Throws if {@link isTooLarge}, and for references that are not URLs. */
	constructor(schema: unknown, longest: Longest) {
		if (isTooLarge(schema)) throw new RangeError("The schema is too large");
		const cheap = (source: string) => this.#pattern(source).isCheap(longest.characters);
		const copy = new Copy(longest, cheap, false);
		const root = copy.of(schema);
		this.root = copy.leavesOut ? new Copy(longest, cheap, true).of(schema) : root;
		this.#draft = draftOf(this.root);
		this.#lookup = dereference(this.root);
	}

	/** Whether the steps are used up, so that no further value can be validated. */
	get isSpent(): boolean {
		return this.#stepsLeft < 0;
	}

	/** Whether `value` is valid against `schema`, the root or a part of it. Throws if finding out takes too long. */
	accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		if (!this.isSpent)
			this.#stepsLeft -= new ValidationCost({
				target: (part) => this.target(part),
				pattern: (source, text) => this.#pattern(source).steps(text.length),
			}).of(value, schema);
		if (this.isSpent) throw new RangeError("Validation against the schema takes too long");
		return validate(value, schema, this.#draft, this.#lookup).valid;
	}

	/** The target of a `$ref` in the schema. */
	target({ $ref, __absolute_ref__: address = $ref }: Schema): JsonSchema | undefined {
		return address === undefined ? undefined : this.#lookup[address];
	}

	/** Whether a regular expression of the schema matches; `undefined` if it is invalid or takes too long. */
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

/** Whether a schema is too large to process: every reader of it may recurse to its depth. */
export function isTooLarge(schema: unknown): boolean {
	const pending: [value: unknown, depth: number, path: number][] = [[schema, 0, 0]];
	let [nodes, paths] = [0, 0];
	for (let next = pending.pop(); next; next = pending.pop()) {
		const [value, depth, path] = next;
		if (typeof value !== "object" || value === null) continue;
		nodes++;
		paths += path;
		if (depth > MAX_DEPTH || nodes > MAX_NODES || paths > MAX_PATHS_CHARACTERS) return true;
		for (const [key, inner] of Object.entries(value)) pending.push([inner, depth + 1, path + key.length + 1]);
	}
	return false;
}

// The values of DATA keys are data, not schemas. The values of MAPS keys are schemas under the caller's own keys.
const DATA = new Set(["const", "enum", "default", "required", "dependentRequired", "type"]);
const MAPS = new Set([
	"$defs",
	"definitions",
	"properties",
	"patternProperties",
	"dependentSchemas",
	"dependencies",
]);
/** Not a format of JSON Schema. The validator's expression for it backtracks over every split of a word. */
const COSTLY_FORMAT = "url";
/** The most similar format that the validator does not check. */
const UNCHECKED_FORMAT = "iri";

/** One copy of a schema. */
class Copy {
	/** Whether a constraint of the schema is missing in the copy. */
	leavesOut = false;
	readonly #longest: Longest;
	readonly #cheap: (pattern: string) => boolean;
	readonly #refsAreLoose: boolean;
	/** Parts of the copy that accept more values than in the schema. */
	readonly #loose = new Set<unknown>();

	/** @param refsAreLoose the targets of references may lack constraints. */
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
			// The properties of the removed patterns would now count as additional.
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

	/** Removes the keywords that accept fewer values if a part of them accepts more. */
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
