import { beforeAll, describe, expect, it } from "vitest";
import type { ConversionOptions } from "../../../src/retrieval/documents/options.ts";
import { textOf } from "./convert.ts";

const html = (text: string, options: ConversionOptions["html"] = {}): Promise<string> =>
	textOf("page.html", text, { html: options });
const plain = (text: string): Promise<string> => textOf("page.html", text, { output: { format: "text" } });

// The first page loads the libraries.
beforeAll(() => html(""), 60_000);

describe("HTML as Markdown", () => {
	it("writes headings, emphasis, links, code, quotes and rules", async () => {
		expect(
			await html(
				`<h1>A <em>big</em> title</h1><p>Some <b>bold</b>, a <a href="https://a.b/c" title="t">link</a>, <code>x|y</code>, snake_case and 10<sup>6</sup>.<br>Next</p><blockquote><p>Quoted</blockquote><hr>`,
			),
		).toBe(
			'# A _big_ title\n\nSome **bold**, a [link](https://a.b/c "t"), `x|y`, snake_case and 10<sup>6</sup>.\\\nNext\n\n> Quoted\n\n---\n',
		);
	});

	it("writes lists, nested, numbered and with boxes", async () => {
		expect(
			await html(
				"<ul><li>one<ul><li>inner</ul><li><input type=checkbox checked> done</ul><ol start=3><li>three<li>four</ol>",
			),
		).toBe("- one\n  - inner\n- [x] done\n\n3. three\n4. four\n");
	});

	it("writes code with its language and its lines", async () => {
		expect(
			await html('<pre><code class="language-js">if (a &lt; 1) {\n  <span>b</span>()\n}</code></pre>'),
		).toBe("```js\nif (a < 1) {\n  b()\n}\n```\n");
	});

	it("leaves out scripts, styles, and the page's head, header and footer", async () => {
		expect(
			await html(
				"<head><style>a{}</style></head><header>Top</header><p>Text<script>alert(1)</script></p><noscript>Off</noscript><footer>End</footer>",
			),
		).toBe("Text\n");
	});

	it("puts the page's metadata first and its JSON-LD last", async () => {
		expect(
			await html(
				`<title>Shop: shoes</title><meta property="og:title" content="Other"><meta name="description" content="All shoes"><meta property="og:image" content="https://a.b/i.png"><script type="application/ld+json">{"@type":"Store"}</script><p>Hi`,
			),
		).toBe(
			'---\ntitle: "Shop: shoes"\ndescription: All shoes\nimage: https://a.b/i.png\n---\n\nHi\n\n```json\n{"@type":"Store"}\n```\n',
		);
	});

	it("returns nothing for an empty page", async () => {
		expect(await html("")).toBe("");
		expect(await html("<script>x</script>")).toBe("");
	});
});

describe("tables", () => {
	it("become GFM tables, with escaped pipes, alignment, spans and a caption", async () => {
		expect(
			await html(
				"<table><caption>Prices</caption><tr><th>Name<th align=right>Price<tr><td>a|b<td>1<tr><td colspan=2>free</table>",
			),
		).toBe("Prices\n\n| Name | Price |\n| - | -: |\n| a\\|b | 1 |\n| free | |\n");
	});

	it("get an empty header where they have none", async () => {
		expect(await html("<table><tr><td>a<td>b</table>")).toBe("| | |\n| - | - |\n| a | b |\n");
	});

	it("hold blocks as lines of a cell", async () => {
		expect(
			await html(
				"<table><tr><th>A<th>B<tr><td><p>one</p><p>two</p><td><ul><li>x<li>y</ul><tr><td>l<br>m<td><pre>c\nd</pre></table>",
			),
		).toBe("| A | B |\n| - | - |\n| one<br>two | x<br>y |\n| l<br>m | `c d` |\n");
	});

	it("with a header stay whole around other tables, whose rows become lines", async () => {
		expect(
			await html(
				"<table><tr><th>A<th>B<tr><td>1<td>before<table><tr><th>i<th>j<tr><td><p>x</p><p>y</p><td>z|</table>after<tr><td>2<td>3</table>",
			),
		).toBe("| A | B |\n| - | - |\n| 1 | before<br>i \\| j<br>x<br>y \\| z\\|<br>after |\n| 2 | 3 |\n");
	});

	it("are taken apart where they only lay the page out", async () => {
		expect(await html("<table><tr><td><h1>T</h1><table><tr><td>a<td>b</table></table>")).toBe(
			"# T\n\n| | |\n| - | - |\n| a | b |\n",
		);
		expect(await html("<table role=presentation><tr><td><p>a</p><td><p>b</p></table>")).toBe("a\n\nb\n");
		expect(await html("<table><tr><td>only</table>")).toBe("only\n");
	});
});

it("lists show the selected options", async () => {
	expect(
		await html("<p><select><option>a<option selected>b</select> <select><option>c<option>d</select>"),
	).toBe("b c\n");
});

describe("links and images", () => {
	const PAGE =
		'<a href="/a?b=1#c">a</a> <a href="#d">d</a> <a href="e.html">e</a> <img src="/i.png" alt="I">';

	it("stay unchanged if the page's address is unknown", async () => {
		expect(await html(PAGE)).toBe("[a](/a?b=1#c) [d](#d) [e](e.html) ![I](/i.png)\n");
	});

	it.each(["example.com", "https://example.com"])(
		"become absolute with the hostname %s",
		async (hostname) => {
			expect(await html(PAGE, { hostname })).toBe(
				"[a](https://example.com/a?b=1#c) [d](#d) [e](https://example.com/e.html) ![I](https://example.com/i.png)\n",
			);
		},
	);

	it("follow the page's first base", async () => {
		const page = `<base href="/docs/"><base href="/other/">${PAGE}`;
		expect(await html(page, { hostname: "example.com" })).toContain("[e](https://example.com/docs/e.html)");
		expect(await html('<base href="https://a.b/c/"><a href=d>d</a>')).toBe("[d](https://a.b/c/d)\n");
		expect(await html('<base href="not a base"><a href=d>d</a>')).toBe("[d](d)\n");
	});

	it("are words where there is nothing to follow, and nothing where there are no words", async () => {
		expect(
			await html(
				'<p><a href="javascript:alert(1)">run</a> <a name=x>here</a> <a href="/y"><i></i></a><img src="data:image/png;base64,AAAA" alt="a dot"></p>',
			),
		).toBe("run here a dot\n");
	});
});

describe("cssSelector", () => {
	const PAGE = `<title>T</title><header id=top><p>Head</p></header><main><p class="a b">one</p><div class=a><p class=a>two</p></div><h2>H</h2><p>three</p><p data-x="1 > 2">four</p></main>`;

	it.each([
		["#top", "Head\n"],
		[".a", "one\n\ntwo\n"],
		["p.a.b", "one\n"],
		["main > p", "one\n\nthree\n\nfour\n"],
		["main p.a", "one\n\ntwo\n"],
		["h2 + p", "three\n"],
		["h2 ~ p", "three\n\nfour\n"],
		["h2, .b", "one\n\n## H\n"],
		['[data-x="1 > 2"]', "four\n"],
		["main > p:not(.a, [data-x])", "three\n"],
		["main>p:nth-child(2n + 1)", "one\n\nfour\n"],
		["main p:first-child:last-child", "two\n"],
		["main *", "one\n\ntwo\n\n## H\n\nthree\n\nfour\n"],
		[".nothing", ""],
	])("%s", async (cssSelector, expected) => {
		expect(await html(PAGE, { cssSelector })).toBe(`---\ntitle: T\n---\n\n${expected}`);
	});

	it.each([
		["p:nth-child(", "The cssSelector cannot be read"],
		["p >", "The cssSelector cannot be read"],
		["p::before", "The cssSelector has '::before', which is not supported"],
		["p:has(b)", "The cssSelector has ':has', which is not supported"],
		["p:not(:has(b))", "The cssSelector has ':has', which is not supported"],
		[":is(p > b)", "The cssSelector has a combinator inside parentheses, which is not supported"],
	])("refuses %s", async (cssSelector, expected) => {
		expect(await html(PAGE, { cssSelector })).toBe(`error: ${expected}`);
	});
});

describe("HTML as plain text", () => {
	it("keeps the words and none of Markdown's signs", async () => {
		expect(
			await plain(
				"<title>T</title><h1>A <em>b</em></h1><p>x <b>y</b> <a href=z>z</a> 10<sup>6</sup><br>w</p><ul><li>one<li>two</ul><table><tr><th>A<th>B<tr><td>1<br>2<td>3</table><pre>a\n  b</pre><img src=i alt=Pic>",
			),
		).toBe("title: T\n\nA b\n\nx y z 106\nw\n\none\ntwo\n\nA\tB\n1 2\t3\n\na\n  b\n\nPic\n");
	});
});
