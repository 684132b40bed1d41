import { describe, expect, it } from "vitest";
import { textOf } from "./convert.ts";

const xml = (text: string): Promise<string> => textOf("data.xml", text);

const CATALOG = `<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE catalog>
<!-- books -->
<catalog xmlns="urn:books" xmlns:x="urn:x">
	<book id="1" lang="en"><title>Moby *Dick*</title><x:price>5 &lt; 6</x:price><sold/></book>
	<note>A <b>very</b>
		long one</note>
	<raw><![CDATA[<p>]]></raw>
</catalog>`;

describe("XML", () => {
	it("is an outline in Markdown", async () => {
		expect(await xml(CATALOG)).toBe(
			[
				"- **catalog**",
				"  - **book** (id: 1, lang: en)",
				"    - **title**: Moby \\*Dick\\*",
				"    - **x:price**: 5 \\< 6",
				"    - **sold**",
				"  - **note**: A very long one",
				"  - **raw**: \\<p>",
				"",
			].join("\n"),
		);
	});

	it("is an outline in plain text", async () => {
		expect(await textOf("a.xml", CATALOG, { output: { format: "text" } })).toBe(
			"catalog\n  book (id: 1, lang: en)\n    title: Moby *Dick*\n    x:price: 5 < 6\n    sold\n  note: A very long one\n  raw: <p>\n",
		);
	});

	it("keeps the order of words and structure", async () => {
		expect(await xml("<p>see <ref><id>7</id></ref> there</p>")).toBe(
			"- **p**\n  - see\n  - **ref**\n    - **id**: 7\n  - there\n",
		);
	});

	it.each([
		["<a><b></a>", "The XML is not well-formed: line 1, column 7"],
		["words", "The XML is not well-formed: line 1, column 1"],
		["", "The XML is not well-formed: line 1, column 1"],
		["<a>\n<b x=1/></a>", "The XML is not well-formed: line 2, column 6"],
		["<a>x & y</a>", "The XML is not well-formed: line 1, column 8"],
		[`${"<a>".repeat(150)}${"</a>".repeat(150)}`, "The XML is nested deeper than 100 elements"],
	])("says where it is wrong (%#)", async (text, expected) => {
		expect(await xml(text)).toBe(`error: ${expected}`);
	});

	it("has any name of an element", async () => {
		expect(await xml("<a><__proto__>x</__proto__></a>")).toBe("- **a**\n  - **\\_\\_proto\\_\\_**: x\n");
	});

	it("has the text of entities that it declares, and the names of others", async () => {
		const declared = `<!DOCTYPE r [<!ENTITY co "Acme"><!ENTITY quote 'a "b"'><!ENTITY file SYSTEM "f.txt">]>`;
		expect(await xml(`${declared}<r by="&co;">&co; &quote; &file; &nbsp; &lt;</r>`)).toBe(
			'- **r** (by: Acme): Acme a "b" \\&file; \\&nbsp; \\<\n',
		);
	});

	it("spends the text of its entities", async () => {
		const bomb = `<!DOCTYPE r [<!ENTITY a "${"a".repeat(100_000)}">]><r>${"&a;".repeat(100)}</r>`;
		expect(await xml(bomb)).toContain("error: The file is too large");
	});

	it("does not expand entities into gigabytes", async () => {
		const entities = [..."bcdefghij"].map((name, i) => {
			const before = "abcdefghij"[i] ?? "";
			return `<!ENTITY ${name} "${`&${before};`.repeat(10)}">`;
		});
		const bomb = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">${entities.join("")}]><r>&j;</r>`;
		expect((await xml(bomb)).length).toBeLessThan(1000);
	});
});
