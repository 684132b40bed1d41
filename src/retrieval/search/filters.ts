/**
 * Reads the filters of a search: those of Vectorize, and the older ones of AutoRAG (`{type, key, value}`, and `and` and `or` of them). Both
 * become conditions that a vector store evaluates; {@link matchesFilter} evaluates them for keywords.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { isList, readFilter } from "../vectors/filter.ts";
import { truncated } from "../vectors/metadata.ts";
import type { FilterCondition, FilterValue } from "../vectors/records.ts";
import { searchFailure } from "./failures.ts";
import { secondsOf, typeOfField } from "./metadata.ts";
import type { CustomField, IndexedMetadata } from "./records.ts";

const COMPARISONS: Readonly<Record<string, string>> = {
	eq: "$eq",
	ne: "$ne",
	gt: "$gt",
	gte: "$gte",
	lt: "$lt",
	lte: "$lte",
};

/** Throws 7015, 7016, 7057, 7058. */
export function readFilters(value: unknown, custom: readonly CustomField[]): FilterCondition[] {
	if (value === undefined || value === null) return [];
	if (!isRecord(value)) throw searchFailure("searchFilterInvalid", "expected an object");
	if (Object.keys(value).length === 0) return [];
	const conditions = isLegacy(value) ? legacy(value) : vectorizeFilter(value);
	return conditions.map((condition) => typed(condition, custom));
}

const isLegacy = (value: Record<string, unknown>): boolean =>
	typeof value.type === "string" && ("key" in value || Array.isArray(value.filters));

function vectorizeFilter(value: unknown): FilterCondition[] {
	try {
		return readFilter(value);
	} catch (thrown) {
		if (!(thrown instanceof AiError)) throw thrown;
		const [, problem = thrown.description] = thrown.description.split("filter: ");
		throw searchFailure("searchFilterInvalid", problem);
	}
}

function legacy(value: unknown): FilterCondition[] {
	if (!isRecord(value)) throw searchFailure("searchFilterInvalid", "expected a filter");
	const { filters, key, type } = value;
	if (type === "and" && Array.isArray(filters)) return filters.flatMap(legacy);
	if (type === "or" && Array.isArray(filters)) return [alternatives(filters)];
	const operator = own(COMPARISONS, String(type));
	if (operator === undefined || typeof key !== "string")
		throw searchFailure(
			"searchFilterInvalid",
			`expected a key, and one of ${Object.keys(COMPARISONS).join(", ")}, and, or as type`,
		);
	return vectorizeFilter({ [key]: { [operator]: value.value } });
}

function alternatives(filters: readonly unknown[]): FilterCondition {
	const values = filters.map((filter) => {
		if (!isRecord(filter) || filter.type !== "eq") throw searchFailure("searchFilterOperators");
		return filter;
	});
	const keys = new Set(values.map(({ key }) => key));
	const [key] = keys;
	if (keys.size !== 1 || typeof key !== "string") throw searchFailure("searchFilterKeys");
	const [condition] = vectorizeFilter({ [key]: { $in: values.map(({ value }) => value) } });
	if (!condition) throw searchFailure("searchFilterKeys");
	return condition;
}

/** A condition on a field that exists, with times in seconds. */
function typed(condition: FilterCondition, custom: readonly CustomField[]): FilterCondition {
	const property = condition.property.toLowerCase();
	const type = typeOfField(property, custom);
	if (type === undefined)
		throw searchFailure("searchFilterInvalid", `${property} is no field of custom_metadata`);
	const operand = (value: FilterValue): FilterValue => {
		if (type !== "datetime" || value === null) return value;
		const seconds = secondsOf(value);
		if (seconds === undefined) throw searchFailure("searchDatetimeInvalid", property);
		return seconds;
	};
	return isList(condition)
		? { ...condition, property, values: condition.values.map(operand) }
		: { ...condition, property, value: operand(condition.value) };
}

/** As a vector store: an item without the property matches `$ne`, `$nin` and `$eq: null`. */
export const matchesFilter = (indexed: IndexedMetadata, filter: readonly FilterCondition[]): boolean =>
	filter.every((condition) => matches(indexed[condition.property], condition));

function matches(stored: string | number | boolean | undefined, condition: FilterCondition): boolean {
	const value: FilterValue = typeof stored === "string" ? truncated(stored) : (stored ?? null);
	if (isList(condition))
		return condition.operator === "$in"
			? value !== null && condition.values.includes(value)
			: !condition.values.includes(value);
	const { operator, value: operand } = condition;
	if (operator === "$eq") return value === operand;
	if (operator === "$ne") return value !== operand;
	if (typeof value !== typeof operand || value === null || operand === null) return false;
	switch (operator) {
		case "$lt":
			return value < operand;
		case "$lte":
			return value <= operand;
		case "$gt":
			return value > operand;
		default:
			return value >= operand;
	}
}
