/**
 * The vectors of an embeddings reply, nearly all of its text. They are checked, but not parsed: most callers get the same
 * text, and parsing and writing the numbers costs several times all other work. `numbersOf` parses them on demand.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { decodeBase64 } from "../../media/base64.ts";
import type { WrittenVectors } from "../../tasks/text-embeddings/index.ts";

/**
 * Matches the member name and the opening bracket of a vector. A string cannot contain the match: its quotes would be
 * escaped. The array ends with the next bracket, unless it contains one of {@link NON_NUMBERS}.
 */
const MEMBER = /"embedding"\s*:\s*\[/;
/**
 * Characters of JSON values other than numbers, of `NaN` and `Infinity`, which some engines write, and of lists that are
 * not JSON. One search per character is the fastest method of the runtime.
 */
const NON_NUMBERS = ['"', "[", "{", "l", "u", "N", "I", "x", ";", "\u00a0"];
/** Matches two numbers without a comma between them. */
const MISSING_COMMA = /[0-9]\s+[-+.0-9]/;
/** This part of each end is parsed, up to the next comma. */
const END_CHARS = 64;

/** Replaces a vector in the reply: the index of its text. */
export const ExtractedVector = lazy(() => z.object({ row: z.int() }));

/**
 * Moves the text of each vector of a reply to `rows`. Arrays of other values stay. Throws if the remaining text is not
 * JSON, or a check shows that a vector is not.
 *
 * Invalid numbers in the middle of a long vector (`01`, `.5`, `,,`) are not detected: a pattern for them takes as long as
 * everything else. An engine that writes them does so in each vector, and the first vector is parsed (`lengthOf`).
 */
export function extractVectors(reply: string, rows: string[]): unknown {
	const [head = "", ...pieces] = reply.split(MEMBER);
	let remaining = head;
	for (const piece of pieces) {
		const end = piece.indexOf("]");
		const numbers = piece.slice(0, end);
		remaining += isVector(numbers)
			? `"embedding":{"row":${rows.push(`[${numbers}]`) - 1}}${piece.slice(end + 1)}`
			: `"embedding":[${piece}`;
	}
	return JSON.parse(remaining);
}

function isVector(numbers: string): boolean {
	if (NON_NUMBERS.some((sign) => numbers.includes(sign)) || MISSING_COMMA.test(numbers)) return false;
	const left = numbers.indexOf(",", END_CHARS);
	const right = numbers.lastIndexOf(",", numbers.length - END_CHARS);
	const isLong = left >= 0 && left < right;
	return PARSERS.json(`[${isLong ? numbers.slice(0, left) + numbers.slice(right) : numbers}]`).length > 0;
}

const FLOAT_BYTES = 4;

/** `undefined` if the text is not base64 of finite 32-bit floats. */
export function floatsIn(base64: string): Float32Array | undefined {
	const bytes = decodeBase64(base64);
	if (!bytes?.length || bytes.length % FLOAT_BYTES !== 0) return undefined;
	const floats = new Float32Array(bytes.buffer);
	return floats.every(Number.isFinite) ? floats : undefined;
}

const PARSERS = {
	json: (row: string): number[] => JSON.parse(row),
	base64: (row: string): number[] => [...(floatsIn(row) ?? [])],
};

/** Throws if a row is not what {@link extractVectors} expects. */
export const numbersOf = ({ as, rows }: Pick<WrittenVectors, "as" | "rows">): number[][] =>
	rows.map(PARSERS[as]);

/** Parses the row; throws like {@link numbersOf}. */
export const lengthOf = (as: WrittenVectors["as"], row: string): number => PARSERS[as](row).length;
