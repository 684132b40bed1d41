/**
 * The order of strings as numbers, because a server compares only numbers with `<`. A string is divided into parts of 6 bytes, and each part is
 * a number below 2^53 to the base 257, in which the byte 0 is 1 and the end of the string is 0. The first parts that differ decide.
 */
import { INDEXED_STRING_BYTES } from "../../limits.ts";
import type { FilterOperator } from "../../records.ts";
import { isEmpty, NEVER, type QdrantCondition } from "./conditions.ts";

const BYTES = 6;
const BASE = 257;
/** Parts of the longest string that is indexed. */
export const ORDER_PARTS = Math.ceil(INDEXED_STRING_BYTES / BYTES);
const ENCODER = new TextEncoder();

/** The fields of a metadata index of strings. */
export const orderField = (number: number, part: number): string => `o${number}_${part}`;

export function orderOf(text: string): number[] {
	const bytes = ENCODER.encode(text);
	return Array.from({ length: Math.ceil(bytes.length / BYTES) }, (_, part) => {
		let sum = 0;
		for (let at = part * BYTES; at < (part + 1) * BYTES; at++) sum = sum * BASE + ((bytes[at] ?? -1) + 1);
		return sum;
	});
}

/** `$lt`, `$lte`, `$gt` or `$gte` of a string. A vector without a string does not match, if its property is required too. */
export function orderCondition(
	operator: FilterOperator,
	text: string,
	number: number,
): QdrantCondition | undefined {
	const isLess = operator === "$lt" || operator === "$lte";
	const parts = orderOf(text);
	const end = endCondition(operator, parts.length, number);
	return parts.reduceRight<QdrantCondition | undefined>((next, part, at) => {
		const key = orderField(number, at);
		const differs: QdrantCondition = isLess
			? { should: [{ key, range: { lt: part } }, isEmpty(key)] }
			: { key, range: { gt: part } };
		const equal: QdrantCondition = { key, range: { gte: part, lte: part } };
		return { should: [differs, next ? { must: [equal, next] } : equal] };
	}, end);
}

/** The strings that begin with the compared one. `undefined`: all of them. */
function endCondition(operator: FilterOperator, parts: number, number: number): QdrantCondition | undefined {
	const isLast = parts >= ORDER_PARTS;
	const key = orderField(number, parts);
	switch (operator) {
		case "$lt":
			return NEVER;
		case "$lte":
			return isLast ? undefined : isEmpty(key);
		case "$gt":
			return isLast ? NEVER : { key, range: { gt: 0 } };
		default:
			return undefined;
	}
}
