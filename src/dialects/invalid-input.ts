/**
 * Errors of inputs: code 5006, and code 8001 for inputs that the product's schemas accept and engines cannot use.
 *
 * The body schemas of the Messages and Responses routes are as loose as the product's (`input` is "string or array"),
 * because items, parts and tools have many types, most of them for tools that only the provider hosts. The supported
 * types are parsed one element at a time, so that an error names the element and its type.
 */
import type { z } from "zod";
import { AiError, FAILURES, type FailureKey } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import { THIRD_PARTY_SOURCE } from "../models/third-party.ts";
import { explain } from "../schemas/explain.ts";
import { meantIssues, NO_MESSAGE } from "../schemas/meant-issues.ts";
import { safeParse } from "../schemas/safe-parse.ts";

/** An error of code 8001. `sentence` begins with the field. */
export const invalidInput = (sentence: string): AiError =>
	new AiError("invalidInput", `Invalid input: ${sentence}`);

/** An error of code 5006, for inputs that do not match a schema. `sentence` names the field by its JSON pointer. */
export const badInput = (sentence: string): AiError => new AiError("badInput", `Error: ${sentence}`);

/** A refusal of inputs (status 400) becomes the failure `key`, which has its sentence. Other errors are returned unchanged. */
export function asInputFailure<T>(key: FailureKey, thrown: T): T | AiError {
	if (!(thrown instanceof AiError) || thrown.status !== 400) return thrown;
	const { retryable, upstream, place } = thrown;
	const sentence = thrown.description.replace(/^(?:Error|Invalid input): /, "");
	const failure = new AiError(key, `${FAILURES[key].description}: ${sentence}`, {
		retryable,
		...(upstream && { upstream }),
	});
	failure.place = place;
	return failure;
}

/** The failure of a model's inputs on its own route. Models of providers run in AI Gateway, which has its own. */
export const inputFailureOf = ({ source }: Pick<Model, "source">): FailureKey | undefined =>
	source === THIRD_PARTY_SOURCE ? "userInputError" : undefined;

/** Throws 8001 with the first issue as a sentence that begins with its place. `at` is the place of the value. */
export function parseAt<T>(schema: z.ZodType<T>, value: unknown, at: string): T {
	const { data, error } = safeParse(schema, value, { error: explain });
	if (error) throw invalidInput(describeIssue(error, value, at));
	return data;
}

function describeIssue(error: z.ZodError, value: unknown, at: string): string {
	const [issue] = error.issues.flatMap((each) => meantIssues(each, value));
	const place = (issue?.path ?? []).reduce<string>(
		(path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
		at,
	);
	return `${place}: ${issue === undefined || issue.message === NO_MESSAGE ? "is not valid" : issue.message}`;
}

/** `input[2].content[0]` as the JSON pointer of a 5006 message. */
export const pointerTo = (at: string): string => `/${at.replaceAll(/[.[]/g, "/").replaceAll("]", "")}`;

/** Enough of an unsupported type to identify it. The caller may send text of any length as a type. */
const MAX_TYPE_CHARACTERS = 64;

/** `at` is the place in the body: `input[2]`. Throws 8001. */
export function parseElement<T>(schema: z.ZodType<T>, value: { type?: unknown }, at: string): T {
	const { data, error } = safeParse(schema, value, { error: explain });
	if (!error) return data;
	const [issue] = error.issues;
	if (issue?.code !== "invalid_union" || issue.path.join() !== "type")
		throw invalidInput(describeIssue(error, value, at));
	const type = JSON.stringify(String(value.type).slice(0, MAX_TYPE_CHARACTERS));
	throw invalidInput(`${at}.type: ${type} is not supported`);
}
