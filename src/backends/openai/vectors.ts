/**
 * The vectors of an embeddings reply, which are nearly all of it: checked, but not read. Whoever wants numbers reads
 * them (`numbersOf`). Most callers want the text again, and to read and write its numbers costs many times all else.
 */
import * as z from "zod";
import { decodeBase64 } from "../../media/base64.ts";
import type { WrittenVectors } from "../../tasks/text-embeddings.ts";

/**
 * What it begins with is the end of a name wherever it is found: inside a string these quotes would be escaped. So what
 * follows is an array, and as long as nothing in it says otherwise it ends with the next bracket.
 */
const MEMBER = /"embedding"\s*:\s*\[/;
/** One of these is in whatever JSON has beside numbers, and in the `NaN` and `Infinity` of some writers. */
const NO_NUMBERS = ['"', "[", "{", "l", "u", "N", "I"];

/** Where a vector was, in what is left of the reply. */
export const CutVector = z.object({ row: z.int() });

/**
 * Cuts the vectors out of a reply and puts their texts into `rows`; an array of other things stays. Throws where the
 * rest is not JSON. Numbers that no JSON has are not found out: a pattern that would takes half as long as reading them.
 */
export function cutVectors(reply: string, rows: string[]): unknown {
	const [head = "", ...pieces] = reply.split(MEMBER);
	let rest = head;
	for (const piece of pieces) {
		const end = piece.indexOf("]");
		const numbers = piece.slice(0, end);
		const isVector = /\d/.test(numbers) && !NO_NUMBERS.some((sign) => numbers.includes(sign));
		rest += isVector
			? `"embedding":{"row":${rows.push(`[${numbers}]`) - 1}}${piece.slice(end + 1)}`
			: `"embedding":[${piece}`;
	}
	return JSON.parse(rest);
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

export const numbersOf = ({ as, rows }: WrittenVectors): number[][] => rows.map(READ[as]);

/** In a checked row. */
export const lengthOf = (as: WrittenVectors["as"], row: string): number =>
	as === "json" ? row.split(",").length : (floatsIn(row)?.length ?? 0);
