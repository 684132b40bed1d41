/**
 * Conditions of a dynamic route: a query of MongoDB over the metadata, the body and the headers of the request. Operators that run code or
 * patterns are not available.
 */
import {
	$and,
	$eq,
	$exists,
	$gt,
	$gte,
	$in,
	$lt,
	$lte,
	$ne,
	$nin,
	$nor,
	$not,
	$or,
	createQueryTester,
} from "sift";
import { isRecord } from "../../core/json.ts";

/** What a condition and the key of a rate may read: `metadata.plan`, `body.model`, `headers.x-country`. */
export interface RequestFacts {
	metadata: Readonly<Record<string, unknown>>;
	body: unknown;
	headers: Readonly<Record<string, string>>;
}

const OPERATIONS = { $and, $eq, $exists, $gt, $gte, $in, $lt, $lte, $ne, $nin, $nor, $not, $or };
const LISTS: ReadonlySet<string> = new Set(["$and", "$or", "$nor", "$in", "$nin"]);

interface Tester {
	test(facts: RequestFacts): boolean;
	/** Why the conditions are invalid. */
	problem?: string;
}

export function testerOf(conditions: Readonly<Record<string, unknown>>): Tester {
	const problem = problemOf(conditions);
	if (problem !== undefined) return { test: () => false, problem };
	try {
		const matches = createQueryTester(conditions, { operations: OPERATIONS });
		return { test: (facts) => isMatch(() => matches(facts)) };
	} catch (cause) {
		return { test: () => false, problem: String((cause as Error).message) };
	}
}

/** A value that cannot be compared does not match: an object of the body may have a field `toString`. */
function isMatch(test: () => boolean): boolean {
	try {
		return test();
	} catch {
		return false;
	}
}

/** Mistakes that the library does not report before it tests a value. */
function problemOf(conditions: unknown): string | undefined {
	if (Array.isArray(conditions)) return conditions.map(problemOf).find(Boolean);
	if (!isRecord(conditions)) return undefined;
	for (const [name, value] of Object.entries(conditions)) {
		if (name.startsWith("$") && !Object.hasOwn(OPERATIONS, name)) return `unknown operator ${name}`;
		if (LISTS.has(name) && !Array.isArray(value)) return `expected a list as the value of ${name}`;
		const nested = problemOf(value);
		if (nested !== undefined) return nested;
	}
	return undefined;
}

/** The value at a path, such as `metadata.user_id`, as text. `undefined`: it is absent or no scalar. */
export function valueAt(path: string, facts: RequestFacts): string | undefined {
	let value: unknown = facts;
	for (const key of path.split(".")) {
		if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
		value = value[key];
	}
	return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}
