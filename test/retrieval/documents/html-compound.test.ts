import fc from "fast-check";
import type { Root } from "hast";
import { fromParse5 } from "hast-util-from-parse5";
import { selectAll } from "hast-util-select";
import { parse } from "parse5";
import { describe, expect, it } from "vitest";
import { parseHtml } from "../../../src/retrieval/documents/html-parse.ts";
import { selectElements } from "../../../src/retrieval/documents/html-select.ts";
import { Work } from "../../../src/retrieval/documents/work.ts";

/** The ids of the selected elements. Only elements without children have one, so no selected element contains another. */
const selected = (page: string, selector: string): string[] => {
	const work = new Work();
	return selectElements(parseHtml(page, work), selector, work).map(({ properties }) => String(properties.id));
};

const ATTRIBUTES = [
	"class=a",
	'class="b  a-b"',
	"class=A",
	"data-x=one",
	'data-x="one two"',
	"data-x=one-two",
	"DATA-X=ONE",
	"type=checkbox",
	"type=radio",
	"checked",
	"selected",
	"disabled",
	"required",
	"href=/x",
];
const PARTS = [
	".a",
	".b",
	".a-b",
	"[data-x]",
	"[DATA-x=one]",
	"[data-x='ONE' i]",
	"[data-x~=two]",
	"[data-x|=one]",
	"[data-x^=one]",
	"[data-x$=two]",
	"[data-x*=e]",
	":first-child",
	":last-child",
	":only-child",
	":first-of-type",
	":last-of-type",
	":only-of-type",
	":nth-child(2n+1)",
	":nth-child(-n+2)",
	":nth-child(even)",
	":nth-last-child(2)",
	":nth-of-type(2n)",
	":nth-last-of-type(-2n+3)",
	":any-link",
	":checked",
	":disabled",
	":required",
	":not(.a)",
	":not(p, [data-x])",
	":is(b, .a:first-child)",
];

const leaf = fc.tuple(
	fc.constantFrom("p", "b", "i", "a", "input", "textarea", "button"),
	fc.uniqueArray(fc.constantFrom(...ATTRIBUTES), {
		maxLength: 4,
		selector: (text) => text.split("=")[0]?.toLowerCase(),
	}),
);
const groups = fc.array(fc.array(leaf, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 });
const compound = fc
	.tuple(fc.constantFrom("", "p", "input", "*"), fc.array(fc.constantFrom(...PARTS), { maxLength: 3 }))
	.map(([tag, parts]) => `${tag}${parts.join("")}[id]`);

describe("compounds of selectors", () => {
	it("match what hast-util-select matches", () => {
		fc.assert(
			fc.property(groups, compound, (content, selector) => {
				let id = 0;
				const page = content
					.map((leaves) =>
						leaves.map(([tag, attributes]) => `<${tag} id=e${id++} ${attributes.join(" ")}></${tag}>`),
					)
					.map((leaves) => `<div>${leaves.join("")}</div>`)
					.join("");
				const expected = selectAll(selector, fromParse5(parse(page)) as Root);
				expect(selected(page, selector)).toEqual(expected.map(({ properties }) => String(properties.id)));
			}),
			{ numRuns: 500 },
		);
	});

	it.each([
		[":where(p)", ["x"]],
		["[CLASS='']", ["y"]],
		["svg [viewbox='1']", ["z"]],
		["[xlink\\:href]", ["z"]],
	])("%s", (selector, expected) => {
		const page = "<p id=x></p><b id=y class></b><svg><a id=z viewBox=1 xlink:href=q></a></svg>";
		expect(selected(page, selector)).toEqual(expected);
	});
});
