/** Small files that ask for much. Each is done within the test's time, with an answer or an error of its own. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { FILE_WORK } from "../../../src/retrieval/documents/work.ts";
import { codePoint } from "../../code-point.ts";
import { convert, textOf } from "./convert.ts";

const times = (count: number, write: (i: number) => string): string =>
	Array.from({ length: count }, (_, i) => write(i)).join("");
const TOO_LARGE = `error: The file is too large or too complex to convert: about ${FILE_WORK} elements, or 4 MB of text, are the most`;

beforeAll(() => convert("a.html", ""), 60_000);

describe("HTML", () => {
	it.each([
		[
			"100,000 nested elements",
			"<div>".repeat(100_000),
			"error: The HTML is nested deeper than 256 elements",
		],
		["100,000 paragraphs", "<p>x".repeat(100_000), TOO_LARGE],
		["5 MB of text", "word ".repeat(1_000_000), TOO_LARGE],
		["formatting that opens again", `${times(200, (i) => `<b x${i}>`)}${"<p>x".repeat(50_000)}`, TOO_LARGE],
		["a million attributes", `<p ${times(1_000_000, (i) => `a${i} `)}>x`, TOO_LARGE],
		["spans", `<table>${`<tr>${"<td rowspan=65000 colspan=1000>x".repeat(20)}`.repeat(500)}`, TOO_LARGE],
		[
			"a row far longer than the others",
			`<table><tr>${"<td>".repeat(5000)}${"<tr><td>x<td>y".repeat(5000)}`,
			TOO_LARGE,
		],
		["lines in nested lists", `${"<ul><li>".repeat(100)}<pre>${"x\n".repeat(100_000)}`, TOO_LARGE],
		["text in nested quotes", `${"<blockquote>".repeat(60)}${"word ".repeat(100_000)}`, TOO_LARGE],
		[
			"a title on every block",
			`<a href=x title="${"t".repeat(1_000_000)}">${"<p>x</p>".repeat(5000)}`,
			TOO_LARGE,
		],
		[
			"a base on every link",
			`<base href="https://x/${"y".repeat(1900)}/">${"<a href=z>x</a>".repeat(15_000)}`,
			TOO_LARGE,
		],
		["3 MB of special characters", "*_[]`~|!#".repeat(350_000), TOO_LARGE],
		["unclosed attributes", '<a href="'.repeat(300_000), ""],
	])("%s", async (_, text, expected) => {
		expect(await textOf("a.html", text)).toBe(expected);
	});

	it("formatting inside its own kind is written once", async () => {
		expect(await textOf("a.html", "<b>x <i>".repeat(120))).toBe(`**x _${"x ".repeat(118)}x_**\n`);
	});

	it("3 MB of text and 10,000 neighbouring elements are converted", async () => {
		expect((await textOf("a.html", `<p>${"word ".repeat(600_000)}`)).length).toBe(3_000_000);
		expect((await textOf("a.html", `<p>${"<x-y>word </x-y>".repeat(10_000)}`)).length).toBe(50_000);
	}, 20_000);

	it.each(["*", "div div div div p", "p ~ p ~ p ~ p", ":not(.x):not(.y)", `${"p,".repeat(30)}p`])(
		"the selector %s costs no more than the page's size",
		async (cssSelector) => {
			const page = `${"<div>".repeat(100)}${"<p>x".repeat(8000)}`;
			expect(await textOf("a.html", page, { html: { cssSelector } })).toMatch(
				/^x\n|^error: The file is too large/,
			);
		},
		20_000,
	);
});

describe("any file", () => {
	const TAGS =
		"a b i p div ul ol li table tr td th caption pre code h1 br hr img input select option textarea blockquote dl dt dd svg math template script style title base meta sup q details button video iframe x-y".split(
			" ",
		);
	const ATTRIBUTES =
		'href="/x" src=y alt=z colspan=3 rowspan=0 class=language-js type=checkbox start=-1 start=7 align=left name=description content=d'.split(
			" ",
		);
	const piece = fc.oneof(
		fc.string({ unit: codePoint, maxLength: 8 }),
		fc.constantFrom(...TAGS).map((tag) => `<${tag}>`),
		fc
			.tuple(fc.constantFrom(...TAGS), fc.constantFrom(...ATTRIBUTES))
			.map(([tag, attribute]) => `<${tag} ${attribute}>`),
		fc.constantFrom(...TAGS).map((tag) => `</${tag}>`),
		fc.constantFrom(
			"<!--",
			"-->",
			"<![CDATA[",
			"]]>",
			"&amp;",
			"&x;",
			"|",
			"\n",
			"`",
			"*",
			"&nbsp;",
			"<?xml?>",
			"<a/>",
			'"',
			",",
		),
	);
	const content = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

	it.each(["a.html", "a.xml", "a.csv"])(
		"%s is converted, or refused in a sentence foreseen",
		async (name) => {
			const format = fc.constantFrom("markdown" as const, "text" as const);
			const hostname = fc.constantFrom(undefined, "a.b", "", "::", "https://a.b/c");
			const cssSelector = fc.constantFrom(undefined, "", "td", "li, option", "* > *");
			await fc.assert(
				fc.asyncProperty(content, format, hostname, cssSelector, async (text, output, host, selector) => {
					const html = {
						...(host !== undefined && { hostname: host }),
						...(selector !== undefined && { cssSelector: selector }),
					};
					const conversion = await convert(name, text, { output: { format: output }, html });
					expect(conversion).not.toHaveProperty("cause");
					if (conversion.format !== "error") expect(conversion.format).toBe(output);
				}),
				{ numRuns: 300 },
			);
		},
		60_000,
	);
});

describe("others", () => {
	it("CSV: rows far shorter than the header cost what they hold", async () => {
		const text = await textOf("a.csv", `${"a,".repeat(200_000)}\n${"x\n".repeat(200_000)}`);
		expect(text.length).toBeLessThan(6_000_000);
	});

	it.each([
		["a.csv", ",".repeat(3_000_000), TOO_LARGE],
		["a.csv", `x${",1".repeat(3_000_000)}`, TOO_LARGE],
		[
			"a.xml",
			"<a>".repeat(100_000) + "</a>".repeat(100_000),
			"error: The XML is nested deeper than 100 elements",
		],
		["a.xml", `<a ${times(300_000, (i) => `a${i}="" `)}/>`, TOO_LARGE],
	])("%s (%#)", async (name, text, expected) => {
		expect(await textOf(name, text)).toBe(expected);
	});
});

describe("CSV before it is parsed", () => {
	it.each([
		["24 MB of line breaks", "\n".repeat(24_000_000)],
		["20 MB of separators", ",".repeat(20_000_000)],
		["20 MB of carriage returns", "\r".repeat(20_000_000)],
	])("%s", async (_, text) => {
		expect(await textOf("a.csv", text)).toBe(TOO_LARGE);
	});
});
