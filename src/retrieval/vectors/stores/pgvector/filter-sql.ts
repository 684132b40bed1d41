/** The condition of a query in SQL. Values of callers are parameters. */
import { COMPARISONS, numberFor, type SelectedCondition } from "../../properties.ts";
import type { FilterValue, VectorQuery } from "../../records.ts";
import { encoded } from "./text.ts";

/** The values of `$1`, `$2` and so on. */
export class Parameters {
	readonly values: string[] = [];

	/** The name of the parameter. */
	add(value: string): string {
		this.values.push(value);
		// A type that the driver does not convert.
		return `$${this.values.length}::text`;
	}
}

/** `true`: all vectors match. */
export function whereSql(
	{ namespace }: Pick<VectorQuery, "namespace">,
	conditions: readonly SelectedCondition[],
	parameters: Parameters,
): string {
	const parts = conditions.map((condition) => conditionSql(condition, parameters));
	if (namespace !== undefined) parts.unshift(`namespace = ${parameters.add(encoded(namespace))}`);
	return parts.length === 0 ? "true" : parts.join(" AND ");
}

/** A vector without a value matches `$ne` and `$nin`, and `$eq: null`. */
function conditionSql({ numbers, operator, values }: SelectedCondition, parameters: Parameters): string {
	const comparison = COMPARISONS[operator];
	if (comparison !== undefined) return rangeSql(comparison, values[0], numbers, parameters);
	const alternatives = values.map((value) => equalSql(value, numbers, parameters));
	const isAny = alternatives.length === 0 ? "false" : `(${alternatives.join(" OR ")})`;
	return operator === "$eq" || operator === "$in" ? isAny : `NOT ${isAny}`;
}

function equalSql(value: FilterValue, numbers: SelectedCondition["numbers"], parameters: Parameters): string {
	// A row without metadata indexes has no object.
	if (value === null)
		return `NOT (${Object.values(numbers)
			.map((number) => `coalesce(indexed ? '${number}', false)`)
			.join(" OR ")})`;
	const number = numberFor(value, numbers);
	if (number === undefined) return "false";
	const own = JSON.stringify({ [number]: typeof value === "string" ? encoded(value) : value });
	return `coalesce(indexed @> ${parameters.add(own)}::jsonb, false)`;
}

function rangeSql(
	comparison: string,
	value: FilterValue | undefined,
	numbers: SelectedCondition["numbers"],
	parameters: Parameters,
): string {
	const number = numberFor(value, numbers);
	if (number === undefined) return "false";
	const stored = `(indexed->>'${number}')`;
	if (typeof value === "string")
		return `coalesce(${stored} COLLATE "C" ${comparison} ${parameters.add(encoded(value))}, false)`;
	return `coalesce(${stored}::float8 ${comparison} ${parameters.add(String(value))}::float8, false)`;
}
