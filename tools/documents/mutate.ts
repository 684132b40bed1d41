/** Damages files at random, and can repeat it: the same seed gives the same file. */
import { unzipSync, zipSync } from "fflate";
import { uniformNumbers } from "../soak/random.ts";

const MAX_CHANGES = 8;
const MAX_BLOCK = 64;
const MAX_REPEATED = 2_000;
/** Numbers at the borders of their types, which sizes and references in files are compared with. */
const NUMBERS = ["0", "-1", "65536", "2147483647", "4294967295", "99999999999", "1e308"];

/** A container is damaged itself, or a part inside of it. */
export function mutated(bytes: Uint8Array, seed: number): Uint8Array {
	const random = uniformNumbers(seed);
	const isContainer = bytes[0] === 0x50 && bytes[1] === 0x4b;
	if (!isContainer || random() < 0.2) return changed(bytes, random);
	const parts = unzipSync(bytes);
	const names = Object.keys(parts).filter((name) => (parts[name]?.length ?? 0) > 0);
	const name = names[Math.floor(random() * names.length)] ?? "";
	const part = parts[name];
	return part ? zipSync({ ...parts, [name]: changed(part, random) }, { level: 0 }) : bytes;
}

function changed(bytes: Uint8Array, random: () => number): Uint8Array {
	let content: Uint8Array = bytes.slice();
	const changes = 1 + Math.floor(random() * MAX_CHANGES);
	for (let i = 0; i < changes; i++)
		content = CHANGES[Math.floor(random() * CHANGES.length)]?.(content, random) ?? content;
	return content;
}

type Change = (bytes: Uint8Array, random: () => number) => Uint8Array;

const at = (bytes: Uint8Array, random: () => number): number => Math.floor(random() * bytes.length);
const joined = (...parts: Uint8Array[]): Uint8Array => {
	const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
	let end = 0;
	for (const part of parts) {
		all.set(part, end);
		end += part.length;
	}
	return all;
};

const CHANGES: readonly Change[] = [
	// Another byte.
	(bytes, random) => {
		bytes[at(bytes, random)] = Math.floor(random() * 256);
		return bytes;
	},
	// Cut off.
	(bytes, random) => bytes.slice(0, at(bytes, random)),
	// Without a block.
	(bytes, random) => {
		const start = at(bytes, random);
		return joined(bytes.subarray(0, start), bytes.subarray(start + Math.ceil(random() * MAX_BLOCK)));
	},
	// With a block of itself, many times.
	(bytes, random) => {
		const start = at(bytes, random);
		const block = bytes.subarray(start, start + Math.ceil(random() * MAX_BLOCK));
		const copies = Array.from({ length: Math.ceil(random() ** 4 * MAX_REPEATED) }, () => block);
		return joined(bytes.subarray(0, start), ...copies, bytes.subarray(start));
	},
	// Another number in text.
	(bytes, random) => {
		const text = new TextDecoder("latin1").decode(bytes);
		const numbers = [...text.matchAll(/\d+/g)];
		const number = numbers[Math.floor(random() * numbers.length)];
		if (!number) return bytes;
		const other = NUMBERS[Math.floor(random() * NUMBERS.length)] ?? "";
		return joined(
			bytes.subarray(0, number.index),
			new TextEncoder().encode(other),
			bytes.subarray(number.index + number[0].length),
		);
	},
	// A block of another place.
	(bytes, random) => {
		const from = at(bytes, random);
		bytes.copyWithin(at(bytes, random), from, from + Math.ceil(random() * MAX_BLOCK));
		return bytes;
	},
];
