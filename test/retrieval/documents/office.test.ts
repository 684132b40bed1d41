/** Office documents and spreadsheets of real programs. */
import { strToU8, unzipSync, zipSync } from "fflate";
import { beforeAll, describe, expect, it } from "vitest";
import { textOf } from "./convert.ts";
import { type FixtureName, fixture } from "./fixtures.ts";

const convert = (
	name: FixtureName,
	...others: Parameters<typeof textOf> extends [unknown, unknown, ...infer More] ? More : never
) => textOf(name, fixture(name), ...others);

const REPORT = `# Quarterly report

Revenue grew by **12 %** in the _third_ quarter.

## Regions

- North
  - Oslo
- South

Next steps:

1. Hire
2. Train

| Region | Sales |
| - | - |
| North | 120 |
| South \\| East | 95 |

See [the full report](https://example.com/report).
`;

describe("text documents", () => {
	it.each([
		["report.odt", `${REPORT}\nChart\n\nThe end, with 2 \\* 3 = 6.\n`],
		["report.docx", `${REPORT}\nA red chart\n\nThe end, with 2 \\* 3 = 6.\n`],
	] as const)("%s of LibreOffice", async (name, expected) => {
		expect(await convert(name)).toBe(expected);
	});

	it("a title is a heading, and a table inside of a table becomes lines of its cell", async () => {
		const text = (content: string) => `<w:p><w:r><w:t>${content}</w:t></w:r></w:p>`;
		const table = (...rows: string[][]) =>
			`<w:tbl>${rows.map((cells) => `<w:tr>${cells.map((cell) => `<w:tc>${cell}</w:tc>`).join("")}</w:tr>`).join("")}</w:tbl>`;
		const inner = table([text("i"), text("j")], [text("x"), text("y")]);
		const title = '<w:p><w:pPr><w:pStyle w:val="Titel"/></w:pPr><w:r><w:t>Annual review</w:t></w:r></w:p>';
		const body = title + table([text("A"), text("B")], [text("1"), `${inner}${text("after")}`]);
		const namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
		const file = zipSync({
			...unzipSync(fixture("minutes.docx")),
			"word/document.xml": strToU8(`<w:document ${namespace}><w:body>${body}</w:body></w:document>`),
			"word/styles.xml": strToU8(
				`<w:styles ${namespace}><w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>`,
			),
		});
		expect(await textOf("a.docx", file)).toBe(
			"# Annual review\n\n| A | B |\n| - | - |\n| 1 | i \\| j<br>x \\| y<br>after |\n",
		);
	});

	it("minutes.docx of the package docx, with a footnote", async () => {
		expect(await convert("minutes.docx")).toBe(`# Minutes

We agreed on **three** points<sup>[\\[1\\]](#footnote-1)</sup>.

- Budget
  - Travel

1. Sign
2. Send

| Who | What |
| - | - |
| Ada | Draft |

[Archive](https://example.com/minutes)

A red logo

1. Source: ledger [↑](#footnote-ref-1)
`);
	});

	it("are plain text on request", async () => {
		expect(await convert("report.docx", { output: { format: "text" } })).toBe(`Quarterly report

Revenue grew by 12 % in the third quarter.

Regions

North
Oslo
South

Next steps:

Hire
Train

Region	Sales
North	120
South | East	95

See the full report.

A red chart

The end, with 2 * 3 = 6.
`);
	});
});

const sheets = (name: string, percent: [string, string] = ["25%", "10%"]): string => `# ${name}

## Prices

| Product | Price | Sold on | Discount |
| --- | --- | --- | --- |
| Pen | 1.5 | 2026-01-02 | ${percent[0]} |
| Note\\|book | 12 | 2026-02-03 | ${percent[1]} |
| Total | 13.5 |  |  |

## Notes

| First line<br>second line |
| --- |
`;

describe("spreadsheets", () => {
	beforeAll(() => convert("prices.ods"), 60_000);

	it.each(["prices.ods", "prices.xlsx", "prices.xls", "prices.et"] as const)(
		"%s of LibreOffice",
		async (name) => {
			expect(await convert(name)).toBe(sheets(name));
		},
	);

	// Its writer keeps no formats of numbers.
	it.each(["prices.xlsb", "prices.xlsm", "prices.numbers"] as const)("%s of SheetJS", async (name) => {
		expect(await convert(name)).toBe(sheets(name, ["0.25", "0.1"]));
	});

	it("are rows with tabs on request", async () => {
		expect(await convert("prices.xlsx", { output: { format: "text" } })).toBe(`prices.xlsx

Prices

Product	Price	Sold on	Discount
Pen	1.5	2026-01-02	25%
Note|book	12	2026-02-03	10%
Total	13.5		

Notes

First line second line
`);
	});
});
