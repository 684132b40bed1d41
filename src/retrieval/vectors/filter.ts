/**
 * Reads filters of metadata: developers.cloudflare.com/vectorize/reference/metadata-filtering. A value stands for `$eq`, several properties and
 * operators are combined by "and", and a dot in a property leads into an object. An empty filter is none: clients send it
 * (`@mastra/vectorize`). Problems are 40026.
 */
import { isRecord } from "../../core/json.ts";
import { bodyUnreadable } from "./failures.ts";
import { MAX_FILTER_BYTES, MAX_FILTER_KEY_CHARACTERS } from "./limits.ts";
import { bytesOfText, truncated } from "./metadata.ts";
import { FILTER_OPERATORS, type FilterCondition, type FilterOperator, type FilterValue } from "./records.ts";

const LISTS: ReadonlySet<FilterOperator> = new Set(["$in", "$nin"]);
const RANGES: ReadonlySet<FilterOperator> = new Set(["$lt", "$lte", "$gt", "$gte"]);

const invalid = (problem: string): Error => bodyUnreadable(`filter: ${problem}`);

export function readFilter(filter: unknown): FilterCondition[] {
	if (!isRecord(filter)) throw invalid("expected an object");
	const bytes = bytesOfText(JSON.stringify(filter));
	if (bytes >= MAX_FILTER_BYTES)
		throw invalid(`expected less than ${MAX_FILTER_BYTES} bytes of compact JSON, got ${bytes} bytes`);
	return Object.entries(filter).flatMap(([property, value]) => conditionsOf(property, value));
}

function conditionsOf(property: string, value: unknown): FilterCondition[] {
	const problem = propertyProblem(property);
	if (problem) throw invalid(problem);
	if (!isRecord(value)) return [{ property, operator: "$eq", value: operandOf(value, property) }];
	const operators = Object.entries(value);
	if (operators.length === 0) throw invalid(`${property}: expected an operator`);
	return operators.map(([operator, operand]) => conditionOf(property, operator, operand));
}

/** Why a text cannot be a property of a filter. */
export function propertyProblem(property: string): string | undefined {
	if (property === "" || property.split(".").includes("")) return "a property is empty";
	if (property.length > MAX_FILTER_KEY_CHARACTERS)
		return `a property has more than ${MAX_FILTER_KEY_CHARACTERS} characters`;
	if (property.startsWith("$")) return "a property starts with $";
	return /["|]/.test(property) ? 'a property contains " or |' : undefined;
}

const isOperator = (name: string): name is FilterOperator =>
	(FILTER_OPERATORS as readonly string[]).includes(name);

function conditionOf(property: string, operator: string, operand: unknown): FilterCondition {
	const place = `${property}.${operator}`;
	if (!isOperator(operator)) throw invalid(`${property}: expected one of ${FILTER_OPERATORS.join(", ")}`);
	if (operator === "$in" || operator === "$nin") {
		if (!Array.isArray(operand)) throw invalid(`${place}: expected an array`);
		return { property, operator, values: operand.map((value) => operandOf(value, place)) };
	}
	const value = operandOf(operand, place);
	if (RANGES.has(operator) && typeof value !== "string" && typeof value !== "number")
		throw invalid(`${place}: expected a string or a number`);
	return { property, operator, value };
}

function operandOf(value: unknown, place: string): FilterValue {
	if (typeof value === "string") return truncated(value);
	if (value === null || typeof value === "number" || typeof value === "boolean") return value;
	throw invalid(`${place}: expected a string, a number, a boolean or null`);
}

export const isList = (
	condition: FilterCondition,
): condition is Extract<FilterCondition, { operator: "$in" | "$nin" }> => LISTS.has(condition.operator);
