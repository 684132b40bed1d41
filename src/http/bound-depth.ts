/** Checks parsed values, and values that came over RPC. `json-scan.ts` checks texts. */
import type { AiError } from "../core/errors.ts";
import { badInput } from "../dialects/invalid-input.ts";
import { tooDeep } from "./json-scan.ts";

/**
 * Later steps recurse over the value, so its depth is bounded to protect the stack. A value that came over RPC may also
 * contain itself, which this bound refuses, or values that JSON does not have. Those throw 5006.
 */
export function boundDepth(value: unknown, limit: number): unknown {
	let level = new Set(containersIn([value]));
	for (let depth = 1; level.size > 0; depth++) {
		if (depth > limit) throw tooDeep(limit);
		const next = new Set<object>();
		for (const container of level)
			for (const inner of containersIn(Object.values(container))) next.add(inner);
		level = next;
	}
	return value;
}

/** The arrays and plain objects among the values. Bytes are allowed, because some inputs are bytes, but have no level. */
function* containersIn(values: readonly unknown[]): Iterable<object> {
	for (const value of values) {
		const kind = typeof value;
		if (kind === "object" && value !== null) {
			if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) continue;
			const prototype: unknown = Object.getPrototypeOf(value);
			if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value))
				throw notJson("object");
			yield value as object;
		} else if (kind === "bigint" || kind === "function" || kind === "symbol") throw notJson(kind);
	}
}

const notJson = (kind: string): AiError =>
	badInput(`the inputs contain a value that JSON does not have: ${kind}`);
