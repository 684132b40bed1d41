/**
 * Collects all mistakes of a configuration, one line each, so that one start shows all of them.
 *
 * A line states the path, what was expected and what was found. It contains names, numbers and choices; for any other value
 * only its type, because a key in the wrong field must not reach a log.
 */
import * as z from "zod";
import { didYouMean, quote } from "../core/did-you-mean.ts";
import { isRecord } from "../core/json.ts";

export class ConfigError extends Error {
	override readonly name = "ConfigError";
	/** One line each. */
	readonly problems: readonly string[];

	constructor(problems: readonly string[]) {
		const title = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
		super(`The configuration has ${title}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
		this.problems = problems;
	}
}

/** A variable, and the path to a field in it. */
export type Path = readonly [string, ...PropertyKey[]];

export class Problems {
	readonly #lines: string[] = [];

	add(path: Path, problem: string): void {
		this.#lines.push(`${formatPath(path)}: ${problem}`);
	}

	/** The parsed value; `undefined` if it has mistakes, which are added. */
	parse<T>(schema: z.ZodType<T>, value: unknown, path: Path): T | undefined {
		const parsed = schema.safeParse(value, { error: explain });
		if (parsed.success) return parsed.data;
		for (const issue of parsed.error.issues) {
			const at: Path = [...path, ...issue.path];
			if (issue.code === "unrecognized_keys")
				for (const [i, line] of issue.message.split("\n").entries())
					this.add([...at, issue.keys[i] ?? ""], line);
			else if (issue.code === "invalid_key") for (const { message } of issue.issues) this.add(at, message);
			else this.add(at, issue.message);
		}
		return undefined;
	}

	/** The entries of an object; none if the value is absent or a mistake, which is added. */
	entriesOf(value: unknown, path: Path): [string, unknown][] {
		if (value === undefined) return [];
		if (isRecord(value)) return Object.entries(value);
		this.add(path, `expected an object, found ${kindOf(value)}`);
		return [];
	}

	throwIfAny(): void {
		if (this.#lines.length > 0) throw new ConfigError(this.#lines);
	}
}

/** `ROUTES["@cf/meta/*"][0].backend` */
export const formatPath = ([variable, ...steps]: Path): string =>
	steps.reduce<string>((path, step) => {
		if (typeof step === "number") return `${path}[${step}]`;
		const name = String(step);
		return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
	}, variable);

const KINDS: Record<string, string> = {
	array: "a list",
	boolean: "true or false",
	int: "a whole number",
	number: "a number",
	object: "an object",
	record: "an object",
	string: "text",
};

/** One line, or one line for each unknown key. Not called for schemas with a message of their own. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
	switch (issue.code) {
		case "invalid_type": {
			const found =
				typeof issue.input === "number" && issue.expected === "int" ? issue.input : kindOf(issue.input);
			return `expected ${KINDS[issue.expected] ?? issue.expected}, found ${found}`;
		}
		case "invalid_value":
			return expectedName(issue.values.map(String), issue.input);
		case "unrecognized_keys": {
			const known = knownKeys(issue.inst);
			const only = known.length > 0 ? `, only ${list(known.map(shownKey), "and")}` : "";
			return issue.keys.map((key) => `expected no such field${didYouMean(key, known) || only}`).join("\n");
		}
		case "too_small":
			return issue.origin === "number"
				? `expected ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}, found ${issue.input}`
				: `expected one or more, found none`;
		case "too_big":
			return `expected at most ${issue.maximum}, found ${issue.input}`;
		default:
			return undefined;
	}
}

/** The keys of an object schema, or of a record of named keys. */
function knownKeys(schema: unknown): string[] {
	if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
	if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum)
		return schema.keyType.options.map(String);
	return [];
}

const shownKey = (key: string): string => (/\s/.test(key) ? quote(key) : key);

/** More names would hide the suggestion. */
const MAX_NAMES_BESIDE_A_GUESS = 6;

/** `expected "openai" or "simulator", found "openia"; did you mean "openai"?` */
export function expectedName(names: readonly string[], found: unknown): string {
	const all = list(names.map(quote), "or");
	if (typeof found !== "string") return `expected ${all}, found ${kindOf(found)}`;
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
