/** Arithmetic in prose: "what is 17 times 23?" holds `17 * 23`. It is found and written, never computed. */

const NUMBER_WORDS = new Map(
	"zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
		.split(" ")
		.map((word, value) => [word, value]),
);
for (const [index, word] of "thirty forty fifty sixty seventy eighty ninety hundred".split(" ").entries())
	NUMBER_WORDS.set(word, (index + 3) * 10);

/** The value of a number word up to a hundred ("seven", "forty-two"); undefined for other words. */
export function numberWord(word: string): number | undefined {
	const [tens = "", ones] = word.toLowerCase().split(/[-\s]/);
	const base = NUMBER_WORDS.get(tens);
	if (ones === undefined || base === undefined) return base;
	const more = NUMBER_WORDS.get(ones);
	return base >= 20 && base < 100 && more !== undefined && more > 0 && more < 10 ? base + more : undefined;
}

// Not from within a number: each of a thousand digits would be tried as its beginning.
const NUMBER = String.raw`(?:(?=\d)(?<!\d,*)\d[\d,]*(?:\.\d+)?|\.\d+)`;
/** A number in words, as a part of a regular expression. */
export const NUMBER_WORD = String.raw`(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[-\s](?:one|two|three|four|five|six|seven|eight|nine)|${[...NUMBER_WORDS.keys()].join("|")})`;
const WORD_NUMBER = new RegExp(String.raw`\b${NUMBER_WORD}\b`, "gi");

const n = `(${NUMBER})`;
const rewrite = (pattern: string, replacement: string): [RegExp, string] => [
	new RegExp(pattern, "gi"),
	replacement,
];
// In this order: what has an operand on each side of two words first, then what is one word.
const OPERATOR_WORDS: [RegExp, string][] = [
	rewrite(`\\b(?:the )?(?:sum|total) of ${n} and ${n}`, "$1 + $2"),
	rewrite(`\\b(?:the )?product of ${n} and ${n}`, "$1 * $2"),
	rewrite(`\\b(?:the )?difference (?:between|of) ${n} and ${n}`, "$1 - $2"),
	rewrite(`\\b(?:the )?quotient of ${n} and ${n}`, "$1 / $2"),
	rewrite(`\\badd ${n} (?:and|to|with) ${n}`, "$1 + $2"),
	rewrite(`\\bsubtract ${n} from ${n}`, "$2 - $1"),
	rewrite(`\\bmultiply ${n} (?:by|and|with) ${n}`, "$1 * $2"),
	rewrite(`\\bdivide ${n} by ${n}`, "$1 / $2"),
	rewrite(`${n}\\s*(?:%|percent|per cent) of ${n}`, "$1 / 100 * $2"),
	rewrite(`\\b(?:the )?square root of ${n}`, "sqrt($1)"),
	rewrite(`${n} squared\\b`, "$1 ** 2"),
	rewrite(`${n} cubed\\b`, "$1 ** 3"),
	rewrite(`${n} (?:to the power of|raised to(?: the power of)?) ${n}`, "$1 ** $2"),
	rewrite(`(?<=[\\d)]\\s*)\\b(?:plus|added to)\\b`, "+"),
	rewrite(`(?<=[\\d)]\\s*)\\b(?:minus|less)\\b`, "-"),
	rewrite(`(?<=[\\d)]\\s*)\\b(?:times|multiplied by)\\b`, "*"),
	rewrite(`(?<=[\\d)]\\s*)\\b(?:divided by|over)\\b`, "/"),
	rewrite(`(?<=[\\d)]\\s*)\\b(?:modulo|mod)\\b`, "%"),
	rewrite(`(?<=\\d\\s*)[x×](?=\\s*[\\d(])`, "*"),
	[/÷/g, "/"],
	[/−/g, "-"],
];

const OPERAND = String.raw`[-+]?\({0,9}\s*[-+]?(?:sqrt\(\s*)?${NUMBER}(?:\s*\)){0,9}`;
const EXPRESSION = new RegExp(
	String.raw`${OPERAND}(?:\s*(?:\*\*|[-+*/^%])\s*${OPERAND})+|sqrt\(\s*${NUMBER}\s*\)`,
	"g",
);
/** `2024-05-01`, `555-1234`, "3-5 cats" and `3/4/2025` are no sums, unless the text asks for one. */
const NOT_ARITHMETIC = /^\d+(?:-\d+)+$|^\d{1,4}\/\d{1,2}\/\d{1,4}$/;
const ASKS_FOR_SUM =
	/\b(?:what|calculate|compute|evaluate|solve|how much)\b(?!.*\b(?:on|date|call|phone)\b)|=|^[\s\d-]+\??$/i;

/** The longest arithmetic expression of a text, operators as signs; undefined where it has none. */
export function expressionIn(text: string): string | undefined {
	let plain = text.replace(WORD_NUMBER, (word) => String(numberWord(word) ?? word));
	for (const [pattern, replacement] of OPERATOR_WORDS) plain = plain.replace(pattern, replacement);
	const found = (plain.match(EXPRESSION) ?? [])
		.map((match) => balanced(match.trim().replace(/(?<=\d),(?=\d{3})/g, "")))
		.filter((match) => ASKS_FOR_SUM.test(text) || !NOT_ARITHMETIC.test(match))
		.sort((a, b) => b.length - a.length);
	return found[0];
}

/** Brackets that the match cut through are left out: those that close nothing, and the first of those left open but for that of a `sqrt(`. */
function balanced(expression: string): string {
	let open = 0;
	const closed = [...expression].filter((sign) => {
		if (sign === ")" && open === 0) return false;
		if (sign === "(") open++;
		if (sign === ")") open--;
		return true;
	});
	const kept = closed.filter((sign, at) => {
		const isLeftOpen = open > 0 && sign === "(" && closed[at - 1] !== "t";
		if (isLeftOpen) open--;
		return !isLeftOpen;
	});
	return kept.join("").trim();
}

const OPERATIONS: [RegExp, string][] = [
	[/\+|\bplus\b|\badd|\bsum\b/i, "add addition plus sum +"],
	[
		/(?<=\d\s*)[-−](?=\s*\d)|\bminus\b|\bsubtract|\bdifference\b/i,
		"subtract subtraction minus difference sub -",
	],
	[
		/(?<=\d\s*)[*x×](?=\s*\d)|\btimes\b|\bmultipl|\bproduct\b/i,
		"multiply multiplication times product mul *",
	],
	[/(?<=\d\s*)[/÷](?=\s*\d)|\bdivided?\b|\bquotient\b/i, "divide division quotient div /"],
	[/\*\*|\^|\bpower\b|\bsquared\b|\bcubed\b/i, "power pow exponent exponentiation ** ^"],
	[/square root|\bsqrt\b/i, "sqrt root squareroot"],
	[/%|\bmod(?:ulo)?\b|\bpercent/i, "modulo mod percent percentage %"],
];

/** The names that tools and enums give to the operations a text asks for; empty without arithmetic in it. */
export function operationsIn(text: string): string[] {
	if (expressionIn(text) === undefined) return [];
	return OPERATIONS.flatMap(([pattern, names]) => (pattern.test(text) ? names.split(" ") : []));
}
