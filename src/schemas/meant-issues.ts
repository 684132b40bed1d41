/** What is wrong in a value of a union: zod has the issues of every branch. */
import type * as z from "zod";

/** What zod says of a union that has no message of its own. */
export const NO_MESSAGE = "Invalid input";

/**
 * Of a union, the issues of the branch that the sent value is for: it has the type of the value, and lacks the fewest fields. A union with a
 * message of its own keeps it, unless that branch names a field inside of the union. `sent`: the value in which the path of the issue begins.
 */
export function meantIssues(issue: z.core.$ZodIssue, sent: unknown): z.core.$ZodIssue[] {
	if (issue.code !== "invalid_union") return [issue];
	const [first, ...others] = issue.errors.map((branch) =>
		branch.map((inner): z.core.$ZodIssue => ({ ...inner, path: [...issue.path, ...inner.path] })),
	);
	if (!first) return [issue];
	const distance = (branch: typeof first): number => {
		const isOther = branch.some(
			({ code, path }) => code === "invalid_type" && path.length === issue.path.length,
		);
		return isOther ? Number.POSITIVE_INFINITY : branch.filter(({ path }) => isAbsent(path, sent)).length;
	};
	const nearest = others.reduce((best, other) => (distance(other) < distance(best) ? other : best), first);
	const isInside = nearest.some(({ path }) => path.length > issue.path.length);
	if (!isInside && issue.message !== NO_MESSAGE) return [issue];
	return nearest.flatMap((inner) => meantIssues(inner, sent));
}

function isAbsent(path: readonly PropertyKey[], sent: unknown): boolean {
	let value = sent;
	for (const key of path)
		value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
	return value === undefined;
}
