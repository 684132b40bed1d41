/** The tree of a page is that of parse5, which follows the HTML standard. */
import fc from "fast-check";
import type { Nodes } from "hast";
import { fromParse5 } from "hast-util-from-parse5";
import { parse } from "parse5";
import { describe, expect, it } from "vitest";
import { parseHtml } from "../../src/markdown/html-parse.ts";
import { Work } from "../../src/markdown/work.ts";

const DOCTYPE = "<!doctype html>";

/** Elements with their tags and children, and texts. The selectors of a conversion compare tags in any case. */
function outline(node: Nodes): string {
	if (node.type === "text") return `"${node.value}"`;
	const children = "children" in node ? node.children.map(outline).join("").replaceAll('""', "") : "";
	return node.type === "element" ? `<${node.tagName.toLowerCase()}>${children}</>` : children;
}

const ours = (html: string): string => outline(parseHtml(DOCTYPE + html, Work.ofRequest().ofFile()));
const standard = (html: string): string => {
	const page = fromParse5(parse(DOCTYPE + html, { scriptingEnabled: false }));
	return outline(page);
};

describe("the tree of a page", () => {
	it.each([
		"",
		"<title>T</title>text",
		"<head><noscript><link></noscript><meta></head><body class=a><p>x</body> y",
		"<noscript><img src=x></noscript>x",
		"<p>a<p>b</p>c</p>d",
		"<ul><li>a<ul><li>b</ul><li><b>c<li>d</ul>e",
		"<dl><dt>a<dd>b<p>c<dt>d</dl>",
		"<h1>a<h2>b</h1>c",
		"<select><optgroup><option>a<option>b<optgroup><option>c</select>",
		"<form><dd></form>a<form><form>b</form>",
		"<button>a<button>b",
		"<pre>\n\na</pre><textarea>\nb<p></textarea>",
		"<p><image src=x>",
		"<div><a href=1>x<p>y<a href=2>z",
		"<b>1<p>2</b>3</p>4",
		"<b><i>1<p>2</b>3</i>4</p>5",
		"<a><b><u><i><div>1</a>2</b>3</div>4",
		"<p><b><b><b><b>x<p>y",
		"<p><b class=a>x<p>y</b>z",
		"<table><tr><td>a<td>b<tr><th>c</table>d",
		"<table><caption>a<tr><td>b</table>",
		"<table><colgroup><col><col><tbody><tr><td>a<tfoot><tr><td>b</table>",
		"<table><col><td>a</table>",
		"<table><tr><td>a</div></p></tr></table>",
		"a<table>b<p>c<tr>d<td>e<b>f</table>g",
		"<table><tr><td><table><tr><td>a</table>b</table>c",
		"<table><div>a<table>b",
		"<table><form><tr><td><input></form></table>",
		"<tr><td>a</td></tr>",
		"<div><span>a</div>b</span>c",
		"<svg><title>a</title><g><p>b",
		"<svg><path/><circle></svg>a",
		"<div><svg><g></div>a",
		"<svg><foreignObject><div>a</div></foreignObject></svg>b",
		"<math><mi>a</mi></math><svg></p>b",
		"<script>a<b>c</script><style>p>q</style><xmp><i></xmp>",
		"&lt;&copy &notit; &#x80;&#0;&NotEqualTilde;<a title='&amp;&copy=1&copy;'>",
		"a\r\nb\rc",
		"<!-- a -->b<!c>d<?e?>f<![CDATA[g]]></ h>",
	])("%s", (html) => {
		expect(ours(html)).toBe(standard(html));
	});

	const piece = (started: string, ended: string, texts: string[]) => {
		const one = (names: string) => fc.constantFrom(...names.split(" "));
		return fc.oneof(
			fc.constantFrom(...texts),
			one(started).map((name) => `<${name}>`),
			one(ended).map((name) => `</${name}>`),
		);
	};
	const BLOCKS =
		"a b i em font p div span ul ol li h1 h2 br hr img input button option blockquote dl dt dd form center";
	it.each([
		["blocks and formatting", BLOCKS, BLOCKS, ["x", " ", "\n", "&amp;"]],
		["tables", "table tr td th tbody thead caption col p div b a ul li", "table p div b a ul li form", ["x"]],
	])("%s in any order", (_, started, ended, texts) => {
		const html = fc
			.array(piece(started, ended, texts), { maxLength: 25 })
			.map((pieces) => `<body>${pieces.join("")}`);
		fc.assert(
			fc.property(html, (text) => {
				expect(ours(text)).toBe(standard(text));
			}),
			{ numRuns: 3000 },
		);
	});

	it("has the attributes in lower case, the first of each name, and no template's content", () => {
		const tree = parseHtml(
			"<p ID=A id=b Class __proto__=c>x<template><p>y</template>",
			Work.ofRequest().ofFile(),
		);
		expect(outline(tree)).toBe('<html><head></><body><p>"x"<template></></></></>');
		const [html] = tree.children;
		const body = html?.type === "element" ? html.children[1] : undefined;
		const [p] = body?.type === "element" ? body.children : [];
		const entries = p?.type === "element" ? Object.entries(p.properties) : [];
		expect(entries).toEqual([
			["id", "A"],
			["class", ""],
			["__proto__", "c"],
		]);
	});
});
