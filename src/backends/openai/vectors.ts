/**
 * The vectors of an embeddings reply, which are nearly all of it: checked, but not read. Whoever wants numbers reads
 * them (`numbersOf`). Most callers want the text again, and to read and write its numbers costs many times all else.
 */
import * as z from "zod";
import { decodeBase64 } from "../../media/base64.ts";
import type { WrittenVectors } from "../../tasks/text-embeddings/types.ts";

/**
 * What it begins with is the end of a name wherever it is found: inside a string these quotes would be escaped. So what
 * follows is an array, and as long as nothing in it says otherwise it ends with the next bracket.
 */
const MEMBER = /"embedding"\s*:\s*\[/;
/**
 * In whatever JSON has beside numbers, in the `NaN` and `Infinity` of some writers, and in lists that are no JSON. One
 * search each: that is the runtime's fastest.
 */
const NO_NUMBERS = ['"', "[", "{", "l", "u", "N", "I", "x", ";", "\u00a0"];
/** It would make the vector longer or shorter than its commas say. */
const NO_COMMA = /[0-9]\s+[-+.0-9]/;
/** So much of each end is read, up to the next comma. */
const END_CHARS = 64;

/** Where a vector was, in what is left of the reply. */
export const CutVector = z.object({ row: z.int() });

/**
 * Cuts the vectors out of a reply and puts their texts into `rows`; an array of other things stays. Throws where the
 * rest is not JSON, or a vector is seen not to be.
 *
 * Not all is seen: in the middle of a long vector, digits, signs, points and commas may stand as in no JSON (`01`, `.5`,
 * `,,`). A pattern that finds those takes as long as all this. An engine that writes so does it in each vector, and the
 * first is read (`lengthOf`).
 */
export function cutVectors(reply: string, rows: string[]): unknown {
	const [head = "", ...pieces] = reply.split(MEMBER);
	let rest = head;
	for (const piece of pieces) {
		const end = piece.indexOf("]");
		const numbers = piece.slice(0, end);
		rest += isVector(numbers)
			? `"embedding":{"row":${rows.push(`[${numbers}]`) - 1}}${piece.slice(end + 1)}`
			: `"embedding":[${piece}`;
	}
	return JSON.parse(rest);
}

function isVector(numbers: string): boolean {
	if (NO_NUMBERS.some((sign) => numbers.includes(sign)) || NO_COMMA.test(numbers)) return false;
	const left = numbers.indexOf(",", END_CHARS);
	const right = numbers.lastIndexOf(",", numbers.length - END_CHARS);
	const isLong = left >= 0 && left < right;
	return READ.json(`[${isLong ? numbers.slice(0, left) + numbers.slice(right) : numbers}]`).length > 0;
}

const FLOAT_BYTES = 4;

/** `undefined` for what is not base64 of 32-bit floats, all of them numbers. */
export function floatsIn(base64: string): Float32Array | undefined {
	const bytes = decodeBase64(base64);
	if (!bytes?.length || bytes.length % FLOAT_BYTES !== 0) return undefined;
	const floats = new Float32Array(bytes.buffer);
	return floats.every(Number.isFinite) ? floats : undefined;
}

const READ = {
	json: (row: string): number[] => JSON.parse(row),
	base64: (row: string): number[] => [...(floatsIn(row) ?? [])],
};

/** Throws where a row is not what {@link cutVectors} took it for. */
export const numbersOf = ({ as, rows }: Pick<WrittenVectors, "as" | "rows">): number[][] =>
	rows.map(READ[as]);

/** Reads it; throws as {@link numbersOf}. */
export const lengthOf = (as: WrittenVectors["as"], row: string): number => READ[as](row).length;
