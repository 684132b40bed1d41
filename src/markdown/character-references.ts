/** Decodes character references (`&amp;`, `&#38;`) as the HTML standard does ("Character reference state"). */
import { lazy } from "../core/lazy.ts";
import table from "./character-references.json" with { type: "json" };

const REFERENCE = /&(?:#\d+|#x[0-9a-f]+|[a-z][a-z0-9]*);?/gi;
/** The longest name that needs no semicolon. */
const MAX_SHORT_NAME = 6;
/** After a name without a semicolon in an attribute: the text is part of an address. */
const CONTINUES = /^[=a-z0-9]/i;

/** The texts by names, and by names that need no semicolon. scripts/character-references.ts writes the table. */
const references = lazy(() => {
	const named = new Map<string, string>();
	const short = new Map<string, string>();
	const gaps = table.gaps.split(" ");
	let code = 0;
	for (const [i, names] of table.names.split(" ").entries()) {
		const [gap, second] = (gaps[i] ?? "").split("+");
		code += gap ? Number.parseInt(gap, 36) : 1;
		const text =
			String.fromCodePoint(code) + (second ? String.fromCodePoint(Number.parseInt(second, 36)) : "");
		for (const name of names.split(",")) {
			const isShort = name.startsWith("*");
			if (isShort) short.set(name.slice(1), text);
			named.set(isShort ? name.slice(1) : name, text);
		}
	}
	return { named, short };
});

export function decodeReferences(text: string, isAttribute = false): string {
	if (!text.includes("&")) return text;
	return text.replace(REFERENCE, (reference, at: number) => {
		if (reference[1] === "#") return characterOf(codeOf(reference));
		const { named, short } = references();
		const exact = reference.endsWith(";") ? named.get(reference.slice(1, -1)) : undefined;
		if (exact !== undefined) return exact;
		for (let end = Math.min(reference.length, 1 + MAX_SHORT_NAME); end > 2; end--) {
			const found = short.get(reference.slice(1, end));
			if (found === undefined) continue;
			const isPart = isAttribute && CONTINUES.test(text.slice(at + end, at + end + 1));
			return isPart ? reference : found + reference.slice(end);
		}
		return reference;
	});
}

function codeOf(reference: string): number {
	const isHex = /x/i.test(reference);
	return Number.parseInt(reference.slice(isHex ? 3 : 2), isHex ? 16 : 10);
}

/** Codes of 0x80 to 0x9f are characters of Windows-1252. */
function characterOf(code: number): string {
	if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\ufffd";
	if (code >= 0x80 && code <= 0x9f) return new TextDecoder("windows-1252").decode(Uint8Array.of(code));
	return String.fromCodePoint(code);
}
