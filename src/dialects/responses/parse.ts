/**
 * The strict half of reading a Responses request. Its body is declared as loosely as the product declares it (`input`
 * is "string or array"): items, parts and tools come in some sixty types, most of them for tools that OpenAI hosts.
 * What is supported is parsed here, one element at a time, so that a fault names its element and a type that is not
 * supported is refused by name, today's and tomorrow's alike.
 */
import type { z } from "zod";
import { invalidInput } from "../chat/errors.ts";
import { fault } from "../chat/tools.ts";

/** `input[2].content[0]` as the JSON pointer that a 5006 names it by. */
export const pointerTo = (at: string): string => `/${at.replaceAll(/[.[]/g, "/").replaceAll("]", "")}`;

/** A type may be any text of the caller's: enough of it to be found again. */
const MAX_TYPE_CHARACTERS = 64;

/** `at` is the place in the body: `input[2]`. Throws 8001. */
export function parseAt<T>(schema: z.ZodType<T>, value: { type?: unknown }, at: string): T {
	const { data, error } = schema.safeParse(value);
	if (!error) return data;
	const [issue] = error.issues;
	if (issue?.code !== "invalid_union" || issue.path.join() !== "type") throw invalidInput(fault(error, at));
	const type = JSON.stringify(String(value.type).slice(0, MAX_TYPE_CHARACTERS));
	throw invalidInput(`${at}.type: ${type} is not supported`);
}
