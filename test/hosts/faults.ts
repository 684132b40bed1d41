/** Faults of a request's shape, in the words of the hosts. */
import type * as z from "zod";

export interface Fault {
	/** `messages[0].content`. Empty for the whole request. */
	path: string;
	/** Absent: the value is invalid. */
	unknownField?: string;
	message: string;
}

/** The first fault. For a union: the fault of the alternative that fits best, which is the one with the deepest fault. */
export function faultOf({ issues }: Pick<z.ZodError, "issues">): Fault {
	return deepest(issues, []).fault;
}

function deepest(
	issues: readonly z.core.$ZodIssue[],
	before: readonly PropertyKey[],
): { depth: number; fault: Fault } {
	const found = issues.map((issue) => {
		const path = [...before, ...issue.path];
		if (issue.code === "invalid_union" && issue.errors.some((errors) => errors.length > 0))
			return issue.errors
				.filter((errors) => errors.length > 0)
				.map((errors) => deepest(errors, path))
				.reduce((best, one) => (one.depth > best.depth ? one : best));
		if (issue.code === "unrecognized_keys") {
			const [unknownField = ""] = issue.keys;
			return {
				depth: path.length + 1,
				fault: { path: textOfPath(path), unknownField, message: issue.message },
			};
		}
		return { depth: path.length, fault: { path: textOfPath(path), message: issue.message } };
	});
	const [first] = found;
	return first ?? { depth: 0, fault: { path: "", message: "invalid" } };
}

const textOfPath = (path: readonly PropertyKey[]): string =>
	path
		.map((step, place) =>
			typeof step === "number" ? `[${step}]` : `${place === 0 ? "" : "."}${String(step)}`,
		)
		.join("");

/** The full path of an unknown field. */
export const fieldPath = ({ path, unknownField }: Fault): string =>
	unknownField === undefined ? path : path === "" ? unknownField : `${path}.${unknownField}`;
