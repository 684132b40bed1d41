/**
 * Describes zod's issues in the wording of the product's validator (github.com/cloudflare/cabidela, and observed replies).
 * Known differences: the product reports only its first finding, we list several; it repeats the caller's value
 * (`enum wizard not in …`), we write `value`, because a value may be a prompt; it does not check `minItems` and `maxItems`,
 * so their wording follows that of its `minProperties`.
 */
import type { z } from "zod";
import { own } from "../../core/own.ts";
import type { ZodSchema } from "./schema-place.ts";
import {
	acceptedTypes,
	type Path,
	placeAt,
	requiredKeys,
	type SchemaPlace,
	unionOf,
	unique,
} from "./schema-place.ts";

const MAX_FINDINGS = 16;
const MAX_CHARACTERS = 2_000;
const MAX_POINTER_CHARACTERS = 200;
/** Enough of a key to identify it. The caller may send text of any length as a key. */
const MAX_KEY_CHARACTERS = 64;
const MAX_KEYS_NAMED = 8;
const MAX_LIST_CHARACTERS = 500;

type Issue = z.core.$ZodIssue;
type IssueOf<Code extends Issue["code"]> = Extract<Issue, { code: Code }>;

/** The number of findings that may still be listed, over all branches of all unions. */
interface Budget {
	remaining: number;
	exceeded: boolean;
}

export function describeIssues(issues: readonly Issue[], schema: ZodSchema, inputs: unknown): string {
	const budget: Budget = { remaining: MAX_FINDINGS, exceeded: false };
	const found = listFindings(issues, { schema, value: inputs }, [], budget).join(", ");
	return shorten(budget.exceeded ? `${found}, …` : found, MAX_CHARACTERS);
}

/** `at` is the path of `place` in the inputs. The paths of the issues are relative to it. */
function listFindings(issues: readonly Issue[], place: SchemaPlace, at: Path, budget: Budget): string[] {
	const found = new Set<string>();
	for (const issue of issues) {
		budget.exceeded ||= budget.remaining <= 0;
		if (budget.exceeded) break;
		const before = found.size;
		found.add(isMissing(issue) ? missing(issue, issues, place, at) : finding(issue, place, at, budget));
		budget.remaining -= found.size - before;
	}
	return [...found];
}

const isMissing = (issue: Issue): boolean =>
	issue.input === undefined &&
	issue.path.length > 0 &&
	["invalid_type", "invalid_value", "invalid_union"].includes(issue.code);

/** The product lists all required properties of the object, not only the missing ones. */
function missing(issue: Issue, issues: readonly Issue[], place: SchemaPlace, at: Path): string {
	const parent = issue.path.slice(0, -1);
	const key = String(issue.path.at(-1));
	const required = requiredKeys(placeAt(place, parent));
	const keys = required.includes(key) ? required : missingBeside(parent, issues);
	const cure = keys.includes(FORM_FIELD) ? FORM_CURE : "";
	return `required properties at '${pointer([...at, ...parent])}' are '${keys.join(",")}'${cure}`;
}

/** The field that stands for a form. The product does not say how it is sent. */
const FORM_FIELD = "multipart";
const FORM_CURE =
	": send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }";

const missingBeside = (parent: Path, issues: readonly Issue[]): string[] =>
	unique(
		issues
			.slice(0, MAX_FINDINGS)
			.filter((issue) => isMissing(issue) && pointer(issue.path.slice(0, -1)) === pointer(parent))
			.map((issue) => name(issue.path.at(-1) ?? "")),
	);

function finding(issue: Issue, place: SchemaPlace, at: Path, budget: Budget): string {
	const path = [...at, ...issue.path];
	const where = pointer(path);
	switch (issue.code) {
		case "invalid_type":
			if (issue.expected === "never") return notAllowed([path], path.slice(0, -1));
			return typeMismatch(where, expectedTypes(issue, place), issue.input);
		case "invalid_union":
			return unionFinding(issue, place, at, budget);
		case "too_big":
			return outOfRange(issue, where, issue.inclusive === false ? "<" : "<=", issue.maximum, "max");
		case "too_small":
			return outOfRange(issue, where, issue.inclusive === false ? ">" : ">=", issue.minimum, "min");
		case "not_multiple_of":
			return `'${where}' must be multiple of ${issue.divisor}`;
		case "invalid_value":
			return notInList(issue.values, where);
		case "invalid_format":
			return "pattern" in issue && issue.format === "regex"
				? `'${where}' failed test ${shorten(patternText(String(issue.pattern)), MAX_LIST_CHARACTERS)} pattern`
				: `'${where}' failed test ${issue.format} format`;
		case "unrecognized_keys":
			return notAllowed(
				issue.keys.slice(0, MAX_KEYS_NAMED).map((key) => [...path, key]),
				path,
			);
		case "invalid_key":
			return `propertyNames at '${pointer(path.slice(0, -1))}' not met: ${listFindings(issue.issues, { schema: undefined, value: undefined }, path, budget).join(", ")}`;
		case "invalid_element":
			return `items at '${where}' not met`;
		case "custom":
			return customFinding(issue, where);
		default:
			issue satisfies never;
			return `'${where}' is not valid`;
	}
}

/** Observed: first the types of the schema, then the types of the value. */
const typeMismatch = (where: string, expected: string[], value: unknown): string =>
	`Type mismatch of '${where}', '${expected.join(",")}' not in ${typesOf(value)
		.map((type) => `'${type}'`)
		.join(",")}`;

const JSON_TYPES: Record<string, string> = {
	record: "object",
	int: "integer",
	tuple: "array",
	nonoptional: "any",
};

function expectedTypes(issue: IssueOf<"invalid_type">, place: SchemaPlace): string[] {
	const expected = own(JSON_TYPES, issue.expected) ?? issue.expected;
	const accepted = acceptedTypes(placeAt(place, issue.path).schema);
	// An issue of a union's branch may concern another schema than the one at its path.
	const isSameSchema = accepted.some(
		(type) => type === expected || (type === "integer" && expected === "number"),
	);
	return isSameSchema ? accepted : [expected];
}

/** All types of a value in the product: an integer is also a number, and a list of numbers may be bytes. */
function typesOf(value: unknown): string[] {
	if (value === null) return ["null"];
	if (typeof value === "number") return Number.isInteger(value) ? ["number", "integer"] : ["number"];
	if (Array.isArray(value))
		return value.every((item) => typeof item === "number" || typeof item === "string")
			? ["array", "binary"]
			: ["array"];
	return ArrayBuffer.isView(value) ? ["binary"] : [typeof value];
}

function unionFinding(issue: IssueOf<"invalid_union">, place: SchemaPlace, at: Path, budget: Budget): string {
	const path = [...at, ...issue.path];
	const where = pointer(path);
	if (issue.discriminator !== undefined) return discriminatorFinding(issue, path, issue.discriminator);
	if (issue.inclusive === false) return `oneOf at '${where}' not met, ${issue.matches.length} matches`;
	const { schema, value } = placeAt(place, issue.path);
	const union = unionOf(schema);
	const branches = issue.errors.map((issues, index) => ({ issues, schema: union?.options[index] }));
	const inBranches = (chosen: typeof branches): string =>
		unique(
			chosen.flatMap((each) => listFindings(each.issues, { schema: each.schema, value }, path, budget)),
		).join(", ");
	if (union?.exclusive) return `oneOf at '${where}' not met, 0 matches: ${inBranches(branches)}`;
	const candidates = branches.filter(({ issues }) => !isOfWrongType(issues));
	if (candidates.length === 0) {
		const types = acceptedTypes(schema);
		// The product's validator lists no mismatch for branches with arrays and objects, because it checks their members.
		const scalars = types.filter((type) => type !== "array" && type !== "object");
		return typeMismatch(where, [scalars, types, ["any"]].find((list) => list.length > 0) ?? [], issue.input);
	}
	// A branch with other constants (`type: "text"`) is not the one that the caller intended.
	const intended = candidates.filter(
		({ issues }) => !issues.some(({ code, path }) => code === "invalid_value" && path[0]),
	);
	const chosen = intended.length > 0 ? intended : candidates;
	return chosen.length === 1 ? inBranches(chosen) : `anyOf at '${where}' not met: ${inBranches(chosen)}`;
}

/** Whether a branch of a union failed because the value has another type. */
const isOfWrongType = (issues: readonly Issue[]): boolean =>
	issues.some(
		(issue) =>
			issue.path.length === 0 &&
			(issue.code === "invalid_type" ||
				(issue.code === "invalid_union" && issue.errors.length > 0 && issue.errors.every(isOfWrongType))),
	);

function discriminatorFinding(issue: IssueOf<"invalid_union">, path: Path, key: string): string {
	const { input } = issue;
	const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, key) : undefined;
	return value === undefined
		? `required properties at '${pointer(path.slice(0, -1))}' are '${key}'`
		: notInList("options" in issue ? (issue.options ?? []) : [], pointer(path));
}

function outOfRange(
	issue: IssueOf<"too_big" | "too_small">,
	where: string,
	comparison: string,
	bound: number | bigint,
	side: "min" | "max",
): string {
	if (issue.origin === "string")
		return `Length of '${where}' must be ${comparison} ${bound}${side === "min" ? " not met" : ""}`;
	if (issue.origin === "array")
		return `${side}Items at '${where}' is ${bound}, got ${Array.isArray(issue.input) ? issue.input.length : 0}`;
	return `'${where}' must be ${comparison} ${bound}`;
}

const notInList = (values: readonly unknown[], where: string): string =>
	values.length === 1
		? `const value doesn't match ${shorten(String(values[0]), MAX_KEY_CHARACTERS)} at '${where}'`
		: `enum value not in ${shorten(values.map(String).join(","), MAX_LIST_CHARACTERS)} at '${where}'`;

const notAllowed = (paths: readonly Path[], at: Path): string =>
	`Additional or unevaluated properties '${paths.map(pointer).join(", ")}' at '${pointer(at)}' not allowed`;

/**
 * The message of a refinement is a predicate: `.refine(isText, "must be text")`. With `params: {minProperties: 1}` (or
 * `maxProperties`) the finding has the wording of that keyword.
 */
function customFinding(issue: IssueOf<"custom">, where: string): string {
	for (const keyword of ["minProperties", "maxProperties"]) {
		const limit: unknown = issue.params?.[keyword];
		const { input } = issue;
		if (typeof limit === "number" && typeof input === "object" && input !== null)
			return `${keyword} at '${where}' is ${limit}, got ${Object.keys(input).length}`;
	}
	return `'${where}' ${issue.message === "Invalid input" ? "is not valid" : issue.message}`;
}

/** A JSON pointer (RFC 6901). The product writes the root as `/`. */
function pointer(path: Path): string {
	if (path.length === 0) return "/";
	return shorten(
		path.map((key) => `/${name(key).replace(/~/g, "~0").replace(/\//g, "~1")}`).join(""),
		MAX_POINTER_CHARACTERS,
	);
}

const name = (key: PropertyKey): string => shorten(String(key), MAX_KEY_CHARACTERS);

/** The pattern without the slashes and flags of the literal, as in JSON Schema. */
const patternText = (pattern: string): string =>
	(/^\/(.*)\/[a-z]*$/s.exec(pattern)?.[1] ?? pattern).replaceAll("\\/", "/");

const shorten = (text: string, characters: number): string =>
	text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
