/** Kinds of characters, for the estimate of tokens: a table of Unicode blocks, and one of the first letters. */

/** Kinds of characters. Adjacent characters of one kind form a run. */
export const KINDS = {
	other: 0,
	lower: 1,
	upper: 2,
	/** `é`, `ß`. The `far` kinds are letters of other Latin alphabets: `ł`, `ğ`, `ạ`. */
	accentedLower: 3,
	accentedUpper: 4,
	farLower: 5,
	farUpper: 6,
	digit: 7,
	space: 8,
	newline: 9,
	mark: 10,
	greek: 11,
	cyrillic: 12,
	hebrew: 13,
	arabic: 14,
	han: 15,
	hiragana: 16,
	katakana: 17,
	hangul: 18,
	/** `。`, `「`, and full-width forms. */
	wideMark: 19,
	indic: 20,
	thai: 21,
	/** Half of a surrogate pair, mostly emoji. */
	half: 22,
	symbol: 23,
	/** Control characters and variation selectors, which belong to the character before them. */
	attached: 24,
} as const;
const { lower, upper, accentedLower, accentedUpper, farLower, farUpper, digit, space, newline, mark } = KINDS;

/** Unicode blocks, each up to `end`. Small blocks that are not listed count as their neighbour's kind. */
const BLOCKS: readonly (readonly [end: number, kind: number])[] = [
	[0xa0, KINDS.attached],
	[0xc0, mark],
	[0xe0, accentedUpper],
	[0x100, accentedLower],
	[0x370, farLower],
	[0x400, KINDS.greek],
	[0x530, KINDS.cyrillic],
	[0x590, KINDS.other],
	[0x600, KINDS.hebrew],
	[0x780, KINDS.arabic],
	[0x900, KINDS.other],
	[0xe00, KINDS.indic],
	[0xe80, KINDS.thai],
	[0x1100, KINDS.other],
	[0x1200, KINDS.hangul],
	[0x1e00, KINDS.other],
	[0x1f00, farLower],
	[0x2000, KINDS.greek],
	[0x2010, KINDS.attached],
	[0x2060, mark],
	[0x2e80, KINDS.symbol],
	[0x3000, KINDS.han],
	[0x3040, KINDS.wideMark],
	[0x30a0, KINDS.hiragana],
	[0x3100, KINDS.katakana],
	[0x3190, KINDS.hangul],
	[0xa000, KINDS.han],
	[0xac00, KINDS.other],
	[0xd800, KINDS.hangul],
	[0xe000, KINDS.half],
	[0xf900, KINDS.symbol],
	[0xfb00, KINDS.han],
	[0xfe00, KINDS.arabic],
	[0xfe10, KINDS.attached],
	[0xfe70, KINDS.wideMark],
	[0xff00, KINDS.arabic],
	[0xff60, KINDS.wideMark],
	[0xffa0, KINDS.katakana],
	[0x10000, KINDS.wideMark],
];

/** All ends of `BLOCKS` are multiples of 2 ** BLOCK_BITS code units. */
const BLOCK_BITS = 4;
const BLOCK_KINDS = new Uint8Array(0x10000 >> BLOCK_BITS);
let blockAt = 0;
for (const [end, kind] of BLOCKS) {
	BLOCK_KINDS.fill(kind, blockAt >> BLOCK_BITS, end >> BLOCK_BITS);
	blockAt = end;
}

/** ASCII and Latin letters, where adjacent characters differ in kind. */
const FIRST_KINDS = Uint8Array.from({ length: 0x250 }, (_, code) => {
	const character = String.fromCharCode(code);
	if (character >= "a" && character <= "z") return lower;
	if (character >= "A" && character <= "Z") return upper;
	if (character >= "0" && character <= "9") return digit;
	if (character === " " || character === "\t") return space;
	if (character === "\n" || character === "\r") return newline;
	if (code < 0x80) return code < 0x20 || code === 0x7f ? KINDS.attached : mark;
	if (character === "ß") return accentedLower;
	if (character === "×" || character === "÷") return mark;
	// Capitals and lower-case letters alternate.
	if (code >= 0x100) return code % 2 === 0 ? farUpper : farLower;
	return BLOCK_KINDS[code >> BLOCK_BITS] ?? KINDS.other;
});

/** The kind of a UTF-16 code unit. */
export const kindOf = (code: number): number =>
	(code < FIRST_KINDS.length ? FIRST_KINDS[code] : BLOCK_KINDS[code >> BLOCK_BITS]) ?? KINDS.other;
