/** The condition of a query. */
import { numberFor, type SelectedCondition } from "../../properties.ts";
import type { FilterOperator, FilterValue, VectorQuery } from "../../records.ts";
import { isEmpty, NEVER, type QdrantCondition, type QdrantFilter } from "./conditions.ts";
import { orderCondition } from "./text-order.ts";

/** The field of a metadata index. */
export const propertyField = (number: number): string => `p${number}`;

/** Of a vector that is deleted, and that a list may still show, the time of its deletion. */
export const LIVE: QdrantCondition = { key: "deleted", match: { value: 0 } };

export function filterOf(
	{ namespace }: Pick<VectorQuery, "namespace">,
	conditions: readonly SelectedCondition[],
): QdrantFilter {
	const space: QdrantCondition[] =
		namespace === undefined ? [] : [{ key: "namespace", match: { value: namespace } }];
	return { must: [LIVE, ...space, ...conditions.map(conditionOf)] };
}

/** A vector without a value matches `$ne` and `$nin`, and `$eq: null`. */
function conditionOf({ numbers, operator, values }: SelectedCondition): QdrantCondition {
	if (operator !== "$eq" && operator !== "$ne" && operator !== "$in" && operator !== "$nin")
		return rangeOf(operator, values[0], numbers);
	const alternatives = values.map((value) => equal(value, numbers));
	if (operator === "$ne" || operator === "$nin") return { must_not: alternatives };
	return alternatives.length === 0 ? NEVER : { should: alternatives };
}

function equal(value: FilterValue, numbers: SelectedCondition["numbers"]): QdrantCondition {
	if (value === null) return { must: Object.values(numbers).map((number) => isEmpty(propertyField(number))) };
	const number = numberFor(value, numbers);
	if (number === undefined) return NEVER;
	const key = propertyField(number);
	// A server compares only integers for equality.
	return typeof value === "number"
		? { key, range: { gte: value, lte: value } }
		: { key, match: { value: typeof value === "string" ? value.toWellFormed() : value } };
}

const RANGES = { $lt: "lt", $lte: "lte", $gt: "gt", $gte: "gte" } as const;

function rangeOf(
	operator: Exclude<FilterOperator, "$eq" | "$in" | "$ne" | "$nin">,
	value: FilterValue | undefined,
	numbers: SelectedCondition["numbers"],
): QdrantCondition {
	const number = numberFor(value, numbers);
	if (number === undefined || (typeof value !== "string" && typeof value !== "number")) return NEVER;
	const key = propertyField(number);
	if (typeof value === "number") return { key, range: { [RANGES[operator]]: value } };
	const order = orderCondition(operator, value, number);
	return { must: order ? [order] : [], must_not: [isEmpty(key)] };
}
