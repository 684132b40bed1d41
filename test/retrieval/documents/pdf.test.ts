/** PDF of LibreOffice, with and without a structure tree. */
import { beforeAll, describe, expect, it } from "vitest";
import { textOf } from "./convert.ts";
import { fixture } from "./fixtures.ts";

const METADATA = `## Metadata
- PDFFormatVersion=1.6
- Language=en-US
- IsLinearized=false
- IsAcroFormPresent=false
- IsXFAPresent=false
- IsCollectionPresent=false
- IsSignaturesPresent=false
- Title=Quarterly report
- Creator=Writer
- Producer=LibreOffice 7.4
`;

describe("PDF", () => {
	beforeAll(() => textOf("tagged.pdf", fixture("tagged.pdf")), 60_000);

	it("with a structure tree has headings, lists, tables and links", async () => {
		expect(await textOf("tagged.pdf", fixture("tagged.pdf"))).toBe(`# tagged.pdf
${METADATA}- CreationDate=D:20261127074240Z'

## Contents
### Page 1
# Quarterly report

Revenue grew by 12 % in the third quarter.

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

The end, with 2 \\* 3 = 6.
`);
	});

	it("without one has the text of its pages, and no metadata on request", async () => {
		const options = { pdf: { metadata: false } };
		expect(await textOf("untagged.pdf", fixture("untagged.pdf"), options)).toBe(`# untagged.pdf
## Contents
### Page 1
Quarterly report
Revenue grew by 12 % in the third quarter.
Regions
•North
•Oslo
•South
Next steps:
1.Hire
2.Train
Region Sales
North 120
South | East 95
See the full report.
The end, with 2 * 3 = 6.
`);
	});

	it("is plain text on request", async () => {
		const options = { output: { format: "text" }, pdf: { metadata: false } } as const;
		const text = await textOf("tagged.pdf", fixture("tagged.pdf"), options);
		expect(text).toMatch(/^tagged\.pdf\nContents\nPage 1\nQuarterly report\n\nRevenue grew by 12 %/);
	});

	it("that is encrypted is refused with a sentence", async () => {
		expect(await textOf("a.pdf", fixture("encrypted.pdf"))).toBe("error: The file is encrypted");
	});
});
