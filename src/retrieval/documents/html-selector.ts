/** Reads a CSS selector into its compounds and combinators. The text rules are those of CSS Syntax 3, which the parser follows only in part. */
import { type AstRule, createParser } from "css-selector-parser";
import { ConversionFailure } from "./work.ts";

const COMBINATORS = [">", "+", "~"] as const;

export type Compound = AstRule["items"];

export interface SelectorStep {
	combinator: " " | (typeof COMBINATORS)[number];
	compound: Compound;
}

/** Other pseudo-classes and the pseudo-elements are parsed, so that the error names them. */
const parse = createParser({
	syntax: {
		tag: { wildcard: true },
		ids: true,
		classNames: true,
		namespace: { wildcard: true },
		combinators: [...COMBINATORS],
		attributes: {
			operators: ["=", "~=", "|=", "^=", "$=", "*="],
			caseSensitivityModifiers: ["i", "I", "s", "S"],
		},
		pseudoClasses: {
			unknown: "accept",
			definitions: {
				Formula: ["nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"],
				Selector: ["is", "where", "not"],
			},
		},
		pseudoElements: { unknown: "accept" },
	},
	// The end of the text closes brackets and quotes, and identifiers may start with two hyphens.
	strict: false,
});

/** The alternatives of a list (`a, b > c`). Throws a `ConversionFailure` for text that is no selector. */
export function readSelector(selector: string): SelectorStep[][] {
	try {
		return parse(normalized(selector)).rules.map(stepsOf);
	} catch (cause) {
		throw new ConversionFailure("The cssSelector cannot be read", { cause });
	}
}

function stepsOf(rule: AstRule): SelectorStep[] {
	const steps: SelectorStep[] = [];
	for (let next: AstRule | undefined = rule; next; next = next.nestedRule)
		steps.push({ combinator: (next.combinator ?? " ") as SelectorStep["combinator"], compound: next.items });
	return steps;
}

const ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|[\s\S])/gi;
const TOKEN =
	/(?<comment>\/\*[\s\S]*?(?:\*\/|$))|"(?:\\[\s\S]|[^"\\])*"?|'(?:\\[\s\S]|[^'\\])*'?|\\[\s\S]|(?<pseudo>:nth-[\w-]+\([^()]*|:[\w-]+)|[()]/gi;

/** The same selector without comments, with pseudo-classes in lower case, and without code points that the parser does not decode. */
function normalized(selector: string): string {
	let open = 0;
	return selector.replace(ESCAPE, decoded).replace(TOKEN, (token, ...rest) => {
		const { comment, pseudo } = rest.at(-1) as Record<string, string | undefined>;
		if (comment !== undefined) return "";
		if (token === ")") open--;
		else if (token === "(" || pseudo?.includes("(")) open++;
		// The parser ignores all text after such a parenthesis.
		if (open < 0) throw new SyntaxError("a parenthesis is closed that is not open");
		return pseudo === undefined ? token : pseudo.toLowerCase().replace(/\(\s*\+/, "(");
	});
}

function decoded(escaped: string, hex: string | undefined): string {
	const code = Number.parseInt(hex ?? "41", 16);
	if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\ufffd";
	return code > 0xffff ? String.fromCodePoint(code) : escaped;
}
