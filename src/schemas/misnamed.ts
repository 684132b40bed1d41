/**
 * Names of a refused request that are probably meant by fields that are absent. Only for a refusal: a request with all its required fields may
 * have unknown ones, which the product ignores too.
 */
import * as z from "zod";
import { asQuestion, didYouMean, MAX_FIELD_NAME } from "../core/did-you-mean.ts";
import { isRecord } from "../core/json.ts";
import { own } from "../core/own.ts";
import { shortened } from "../core/shortened.ts";
import { kindOf, unwrapped } from "./explain.ts";
import { meantIssues } from "./meant-issues.ts";

/** The end of a sentence about an absent field (`explain.ts`). A schema may have another one, such as why a field that was sent is not read. */
const ABSENT = `, found ${kindOf(undefined)}`;

/** The issues that a caller can cure: of a union those of the meant branch, and with an absent field the name that was sent instead. */
export const curableIssues = (
	issues: readonly z.core.$ZodIssue[],
	schema: z.ZodType,
	sent: unknown,
): z.core.$ZodIssue[] =>
	issues
		.flatMap((issue) => meantIssues(issue, sent))
		.map((issue) => {
			const note = issue.message.endsWith(ABSENT) ? misnamedField(schema, sent, issue.path) : undefined;
			return note === undefined ? issue : { ...issue, message: `${issue.message}; ${note}` };
		});

/** A sentence with the name that was sent instead of a field. `undefined`: the field is not absent, or no unknown name is close to its name. */
export function misnamedField(
	schema: z.ZodType,
	sent: unknown,
	path: readonly PropertyKey[],
): string | undefined {
	const name = path.at(-1);
	if (typeof name !== "string") return undefined;
	let schemas = branchesOf(schema);
	let value = sent;
	for (const key of path.slice(0, -1)) {
		schemas = schemas.flatMap((each) => childrenOf(each, key));
		value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
	}
	if (!isRecord(value) || own(value, name) !== undefined) return undefined;
	const objects = schemas.filter((each) => each instanceof z.ZodObject);
	// A strict object has an issue for each unknown name.
	if (objects.some(({ def }) => def.catchall instanceof z.ZodNever)) return undefined;
	const unknown = Object.keys(value).filter(
		(each) => !objects.some(({ shape }) => Object.hasOwn(shape, each)),
	);
	return misnamed(name, unknown, path.slice(0, -1));
}

/** The same for a field of an object whose `unknown` names are known. `parent`: the path of the object. */
export function misnamed(
	name: string,
	unknown: readonly string[],
	parent: readonly PropertyKey[] = [],
): string | undefined {
	// The refusal repeats the name, so a longer one would make a long refusal.
	const near = unknown.find((each) => each.length <= MAX_FIELD_NAME && didYouMean(each, [name]) !== "");
	if (near === undefined) return undefined;
	const path = [...parent, near].map((key) => (typeof key === "string" ? shortened(key) : key));
	return `${z.core.toDotPath(path)}: unknown${asQuestion(name)}`;
}

/** The same for a field of an object without a schema. `known`: all its fields. `undefined` also if the field is there. */
export function misnamedIn(sent: unknown, name: string, known: readonly string[]): string | undefined {
	if (!isRecord(sent) || own(sent, name) !== undefined) return undefined;
	return misnamed(
		name,
		Object.keys(sent).filter((each) => !known.includes(each)),
	);
}

function childrenOf(schema: unknown, key: PropertyKey): unknown[] {
	if (schema instanceof z.ZodObject) return branchesOf(own(schema.shape, String(key)));
	if (schema instanceof z.ZodArray) return branchesOf(schema.element);
	return schema instanceof z.ZodRecord ? branchesOf(schema.valueType) : [];
}

/** The schemas of which a value may be. */
function branchesOf(schema: unknown): unknown[] {
	const inner = unwrapped(schema);
	if (inner instanceof z.ZodUnion) return inner.options.flatMap(branchesOf);
	if (inner instanceof z.ZodIntersection) return [inner.def.left, inner.def.right].flatMap(branchesOf);
	if (inner instanceof z.ZodPipe) return [inner.in, inner.out].flatMap(branchesOf);
	return [inner];
}
