/**
 * Collects all mistakes of a configuration, one line each, so that one start shows all of them.
 *
 * A line states the path, what was expected and what was found. It contains names, numbers and choices; for any other value
 * only its type, because a key in the wrong field must not reach a log.
 */
import type * as z from "zod";
import { isRecord } from "../core/json.ts";
import { explain, kindOf } from "../schemas/explain.ts";

export class ConfigError extends Error {
	override readonly name = "ConfigError";
	/** One line each. */
	readonly problems: readonly string[];

	/** `warnings`: what may be the cause of the mistakes. */
	constructor(problems: readonly string[], warnings: readonly string[] = []) {
		const title = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
		const lines = problems.map((problem) => `  ${problem}`);
		const notes = warnings.length === 0 ? [] : ["Warnings:", ...warnings.map((warning) => `  ${warning}`)];
		super([`The configuration has ${title}:`, ...lines, ...notes].join("\n"));
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
			const at: Path = [...path, ...writtenPath(value, issue.path)];
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

/** The steps that exist in the value. A short form is a text, so it has none to the field that the text stands for. */
function writtenPath(value: unknown, steps: readonly PropertyKey[]): readonly PropertyKey[] {
	let at = value;
	for (const [i, step] of steps.entries()) {
		if (typeof at === "string") return steps.slice(0, i);
		at = typeof at === "object" && at !== null ? Reflect.get(at, step) : undefined;
	}
	return steps;
}

/** `ROUTES["@cf/meta/*"][0].backend` */
export const formatPath = ([variable, ...steps]: Path): string =>
	steps.reduce<string>((path, step) => {
		if (typeof step === "number") return `${path}[${step}]`;
		const name = String(step);
		return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
	}, variable);
