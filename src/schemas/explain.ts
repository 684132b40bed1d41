/**
 * Messages for mistakes in settings: what was expected and what was found, in words. They contain names, numbers and choices;
 * for any other value only its type, because a key in the wrong field must not reach a log.
 */
import * as z from "zod";
import { asQuestion, didYouMean, didYouMeanField, quote } from "../core/did-you-mean.ts";
import { isRecord } from "../core/json.ts";

const KINDS: Record<string, string> = {
	array: "a list",
	boolean: "true or false",
	int: "a whole number",
	never: "nothing",
	// An absent field of any type.
	nonoptional: "a value",
	number: "a number",
	object: "an object",
	record: "an object",
	string: "text",
	undefined: "nothing",
};

const FORMATS: Record<string, string> = {
	date: "a date such as 2026-11-21",
	datetime: "a time such as 2026-11-21T08:00:00Z",
	url: "a URL",
	uuid: "a UUID",
};

/** What messages say about the fields of an object. A schema has its own with `.register(fieldNotes, …)`. */
interface FieldNotes {
	/** The end of the sentence about an unknown field that belongs to another place, or has another name. */
	unknown(field: string): string | undefined;
	/** Fields that users do not set. */
	internal?: readonly string[];
}
export const fieldNotes = z.registry<FieldNotes>();

/** zod's `error` option. One line, or one line for each unknown key. Not called for schemas with a message of their own. */
export function explain(issue: z.core.$ZodRawIssue): string | undefined {
	switch (issue.code) {
		case "invalid_type": {
			const isShown =
				typeof issue.input === "number" && (issue.expected === "int" || !Number.isFinite(issue.input));
			const found = isShown ? issue.input : kindOf(issue.input);
			return `expected ${KINDS[issue.expected] ?? issue.expected}, found ${found}`;
		}
		case "invalid_value":
			return issue.values.every((value) => typeof value === "string")
				? expectedName(issue.values, issue.input)
				: `expected ${list(issue.values.map(shownValue), "or")}, found ${foundValue(issue.input)}`;
		case "invalid_union":
			return issue.inst instanceof z.ZodDiscriminatedUnion
				? kindOfUnion(issue.inst, issue.input)
				: typesOfBranches(issue);
		case "unrecognized_keys": {
			const notes = notesOf(issue.inst);
			const known = knownKeys(issue.inst).filter((key) => !notes?.internal?.includes(key));
			const only = known.length > 0 ? `, only ${list(known.map(shownKey), "and")}` : "";
			return issue.keys
				.map(
					(key) =>
						`expected no such field${notes?.unknown(key) ?? (inner(issue.inst, key) || didYouMeanField(key, known) || only)}`,
				)
				.join("\n");
		}
		case "too_small": {
			const { found, unit } = sizeOf(issue.input);
			if (found === 0 && unit && Number(issue.minimum) === 1)
				return `expected one or more${unit === "items" ? "" : ` ${unit}`}, found none`;
			return `expected ${issue.inclusive ? "at least" : "more than"} ${amount(issue.minimum, unit)}, found ${found}`;
		}
		case "too_big": {
			const { found, unit } = sizeOf(issue.input);
			return `expected ${issue.inclusive ? "at most" : "less than"} ${amount(issue.maximum, unit)}, found ${found}`;
		}
		case "invalid_format":
			return `expected ${issue.format === "regex" ? `text that matches ${issue.pattern}` : (FORMATS[issue.format] ?? "text of another form")}, found another text`;
		case "not_multiple_of":
			return `expected a multiple of ${issue.divisor}, found ${foundValue(issue.input)}`;
		case "invalid_key":
			return issue.issues?.[0]?.message;
		default:
			return undefined;
	}
}

/** The issue has the path of the field by which the union chooses. */
function kindOfUnion({ _zod: { def, propValues } }: z.ZodDiscriminatedUnion, input: unknown): string {
	const names = [...(propValues?.[def.discriminator] ?? [])].map(String);
	return expectedName(names, isRecord(input) ? input[def.discriminator] : undefined);
}

/** The sentence for a value whose type no branch of the union has. `undefined`: at least one branch has it. */
function typesOfBranches({
	errors,
	input,
}: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string | undefined {
	const expected = errors.map(([first, ...others]) =>
		first?.code === "invalid_type" && first.path.length === 0 && others.length === 0
			? first.expected
			: undefined,
	);
	const kinds = new Set(expected.map((kind) => kind && (KINDS[kind] ?? kind)));
	if (kinds.size === 0 || kinds.has(undefined)) return undefined;
	return `expected ${list([...kinds].map(String), "or")}, found ${kindOf(input)}`;
}

/** `unit`: a plural. */
const amount = (count: unknown, unit: string): string =>
	`${count}${unit && ` ${Number(count) === 1 ? unit.slice(0, -1) : unit}`}`;

function sizeOf(input: unknown): { found: unknown; unit: "characters" | "items" | "" } {
	if (typeof input === "string") return { found: input.length, unit: "characters" };
	if (Array.isArray(input)) return { found: input.length, unit: "items" };
	return { found: input, unit: "" };
}

/** The keys of an object schema, or of a record of named keys. */
function knownKeys(schema: unknown): string[] {
	if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
	if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum)
		return schema.keyType.options.map(String);
	return [];
}

const notesOf = (schema: unknown): FieldNotes | undefined =>
	schema instanceof z.ZodType ? fieldNotes.get(schema) : undefined;

const shownValue = (value: unknown): string => (typeof value === "string" ? quote(value) : String(value));

/** A short text or a number itself; else its kind. */
export const foundValue = (value: unknown): string =>
	typeof value === "number" ||
	(typeof value === "string" && value !== "" && value.length <= MAX_SHOWN_CHARACTERS)
		? shownValue(value)
		: kindOf(value);

/** Text for a field that belongs into another field of the object, as a question. Empty if none of them has it. */
function inner(schema: unknown, key: string): string {
	const fields = objectIn(schema)?.shape ?? {};
	const places = Object.keys(fields).filter((name) =>
		Object.hasOwn(objectIn(fields[name])?.shape ?? {}, key),
	);
	return places.length > 0 ? asQuestion(...places.map((name) => `${name}.${key}`)) : "";
}

/** The schema of an object inside others. */
export function objectIn(schema: unknown): z.ZodObject | undefined {
	const inner = unwrapped(schema);
	if (inner instanceof z.ZodPipe) return objectIn(inner.in) ?? objectIn(inner.out);
	return inner instanceof z.ZodObject ? inner : undefined;
}

/** The schema of a value that is not absent. */
export function unwrapped(schema: unknown): unknown {
	const wraps = [z.ZodOptional, z.ZodNullable, z.ZodDefault, z.ZodPrefault];
	return wraps.some((wrap) => schema instanceof wrap)
		? unwrapped((schema as z.ZodOptional).unwrap())
		: schema;
}

const shownKey = (key: string): string => (/\s/.test(key) ? quote(key) : key);

/** A longer text may be a key in the wrong field. */
const MAX_SHOWN_CHARACTERS = 32;
/** More names would hide the suggestion. */
const MAX_NAMES_BESIDE_A_GUESS = 6;

/** `expected "openai" or "simulator", found "openia"; did you mean "openai"?` */
export function expectedName(names: readonly string[], found: unknown): string {
	const all = list(names.map(quote), "or");
	if (typeof found !== "string" || found.length > MAX_SHOWN_CHARACTERS)
		return `expected ${all}, found ${kindOf(found)}`;
	const guess = didYouMean(found, names);
	const expected = guess && names.length > MAX_NAMES_BESIDE_A_GUESS ? `one of ${names.length} names` : all;
	return `expected ${expected}, found ${quote(found)}${guess}`;
}

export function kindOf(value: unknown): string {
	if (value === undefined) return "nothing";
	if (value === null || typeof value === "boolean") return String(value);
	if (Array.isArray(value)) return "a list";
	if (value === "") return "an empty text";
	if (typeof value === "string") return "text";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** `a, b and c` */
export const list = (items: readonly string[], last: "and" | "or"): string =>
	items.length < 2 ? items.join() : `${items.slice(0, -1).join(", ")} ${last} ${items.at(-1)}`;
