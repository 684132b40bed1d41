/** Files that ask for much, lie about their sizes, or are damaged. Each ends in a sentence of its own. */
import { strToU8, unzipSync, zipSync } from "fflate";
import { beforeAll, describe, expect, it } from "vitest";
import { textOf } from "./convert.ts";
import { FIXTURE_NAMES, type FixtureName, fixture } from "./fixtures.ts";

/** The parts of a document, some of them replaced. */
const withParts = (name: FixtureName, parts: Record<string, string | Uint8Array>): Uint8Array => {
	const replaced = Object.entries(parts).map(([part, content]) => [
		part,
		typeof content === "string" ? strToU8(content) : content,
	]);
	return zipSync({ ...unzipSync(fixture(name)), ...Object.fromEntries(replaced) });
};
const partOf = (name: FixtureName, part: string): string =>
	new TextDecoder().decode(unzipSync(fixture(name))[part]);

const DOCUMENT = "word/document.xml";
const SHEET = "xl/worksheets/sheet1.xml";
const paragraph = (inside: string): string =>
	`<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>${inside}</w:t></w:r></w:p></w:body></w:document>`;

/** Sets the declared sizes of a part, in its own header and in the directory. */
function withDeclaredSize(container: Uint8Array, part: string, size: number): Uint8Array {
	const view = new DataView(container.buffer, container.byteOffset);
	const name = strToU8(part);
	for (let at = 0; at < container.length - 46; at++) {
		const signature = view.getUint32(at, true);
		const [sizeAt, lengthAt, nameAt] =
			signature === 0x04034b50 ? [22, 26, 30] : signature === 0x02014b50 ? [24, 28, 46] : [];
		if (sizeAt === undefined || lengthAt === undefined || nameAt === undefined) continue;
		const found = container.subarray(at + nameAt, at + nameAt + view.getUint16(at + lengthAt, true));
		if (String(found) === String(name)) view.setUint32(at + sizeAt, size, true);
	}
	return container;
}

const TOO_COMPLEX =
	"error: The file is too large or too complex to convert: about 40000 elements, or 4 MB of text, are the most";

describe("containers", () => {
	beforeAll(() => textOf("report.docx", fixture("report.docx")), 60_000);

	it("that unpack to more than 24 MB are refused before they are", async () => {
		const bomb = withParts("report.docx", { [DOCUMENT]: new Uint8Array(25 * 1024 * 1024) });
		expect(bomb.length).toBeLessThan(100_000);
		expect(await textOf("a.docx", bomb)).toBe("error: The file is larger than 24 MB when it is unpacked");
	});

	it("that declare less than they have are cut off", async () => {
		const bomb = withParts("report.docx", { [DOCUMENT]: paragraph("x".repeat(1_000_000)) });
		expect(await textOf("a.docx", withDeclaredSize(bomb, DOCUMENT, 10))).toBe(
			"error: The file is damaged, or is not a Word document",
		);
	});

	it.each(["xl/worksheets/sheet1.bin", "xl/other.BIN"])(
		"of XLSB with more than 3 MB in %s are refused before they are read",
		async (part) => {
			const large = withParts("prices.xlsb", { [part]: new Uint8Array(3_000_001) });
			expect(await textOf("a.xlsb", large)).toBe(TOO_COMPLEX);
		},
	);

	it("with thousands of parts are refused", async () => {
		const parts = Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`word/${i}.xml`, "<a/>"]));
		expect(await textOf("a.docx", withParts("report.docx", parts))).toBe(
			"error: The file has more than 2000 parts",
		);
	});

	it.each([
		["report.docx", DOCUMENT],
		["report.odt", "content.xml"],
		["prices.xlsx", SHEET],
		["prices.ods", "content.xml"],
	] as const)("with a DTD are refused: %s", async (name, part) => {
		const xml =
			'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><a>&b;</a>';
		expect(await textOf(name, withParts(name, { [part]: xml }))).toBe(
			"error: The file has a document type definition, which office files cannot have",
		);
	});

	it("with a million elements are refused", async () => {
		const runs = paragraph("<w:br/>".repeat(500_000));
		expect(await textOf("a.docx", withParts("report.docx", { [DOCUMENT]: runs }))).toBe(TOO_COMPLEX);
	});

	it("of the old formats, in which Office keeps encrypted documents, are refused", async () => {
		expect(await textOf("a.docx", new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]))).toBe(
			"error: The file is encrypted",
		);
	});

	it("of text documents cannot repeat spaces without end", async () => {
		const content = partOf("report.odt", "content.xml").replace(
			"Next steps:",
			'Next<text:s text:c="900000000"/>steps:',
		);
		expect(await textOf("a.odt", withParts("report.odt", { "content.xml": content }))).toContain(
			"Next steps:",
		);
	});
});

describe("spreadsheets", () => {
	beforeAll(() => textOf("prices.xlsx", fixture("prices.xlsx")), 60_000);

	const sheet = (dimension: string, rows: string): string =>
		`<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="${dimension}"/><sheetData>${rows}</sheetData></worksheet>`;
	const cell = (place: string, value: number): string =>
		`<row r="${/\d+/.exec(place)?.[0]}"><c r="${place}"><v>${value}</v></c></row>`;

	it.each([
		["that declare 17 billion cells and have one", "A1:XFD1048576", cell("A1", 7), "| 7 |\n| --- |\n"],
		[
			"with cells at both corners",
			"A1:XFD1048576",
			cell("A1", 7) + cell("XFD1048576", 8),
			"| 7 |  |\n| --- | --- |\n|  | 8 |\n",
		],
	])("%s have the cells that exist", async (_, dimension, rows, expected) => {
		const book = withParts("prices.xlsx", { [SHEET]: sheet(dimension, rows) });
		expect(await textOf("a.xlsx", book)).toContain(`## Prices\n\n${expected}`);
	});

	it("with 50,000 cells are converted, with 250,000 refused", async () => {
		const rows = (count: number) =>
			Array.from({ length: count }, (_, row) => {
				const cells = Array.from({ length: 5 }, (_, column) => `<c><v>${row * 5 + column}</v></c>`);
				return `<row>${cells.join("")}</row>`;
			}).join("");
		const book = (count: number) => withParts("prices.xlsx", { [SHEET]: sheet("A1", rows(count)) });
		const converted = await textOf("a.xlsx", book(10_000));
		expect(converted).toContain("| 49995 | 49996 | 49997 | 49998 | 49999 |\n");
		expect(await textOf("a.xlsx", book(50_000))).toBe(TOO_COMPLEX);
	}, 60_000);

	it.each([
		[
			"is refused",
			"table:number-columns-repeated='900' ",
			"table:number-rows-repeated='900' ",
			/^error: The file has more than 1000000 cells$/,
		],
		[
			"to the borders of the sheet is written once",
			'table:number-columns-repeated="16384" ',
			'table:number-rows-repeated="1048576" ',
			/\| Product \| Price \|/,
		],
	])("of OpenDocument with a cell that is repeated: %s", async (_, columns, rows, expected) => {
		const content = partOf("prices.ods", "content.xml")
			.replaceAll("<table:table-row ", `<table:table-row ${rows}`)
			.replaceAll(
				'<table:table-cell office:value-type="string"',
				`<table:table-cell ${columns}office:value-type="string"`,
			);
		expect(await textOf("a.ods", withParts("prices.ods", { "content.xml": content }))).toMatch(expected);
	});
});

describe("PDF", () => {
	beforeAll(() => textOf("untagged.pdf", fixture("untagged.pdf")), 60_000);

	/** A file without a table of its objects, which readers find by a search. */
	const pdf = (...objects: string[]): Uint8Array =>
		strToU8(
			`%PDF-1.7\n${objects.map((object, i) => `${i + 1} 0 obj\n${object}\nendobj\n`).join("")}trailer\n<< /Root 1 0 R >>\n%%EOF`,
		);
	const CATALOG = "<< /Type /Catalog /Pages 2 0 R >>";
	const PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>";

	const RECOVERED = /^# a\.pdf\n## Metadata\n[^#]*\n## Contents\n### Page 1\n$/;
	const pages = Array.from({ length: 2_001 }, (_, i) => i + 3);
	const kids = pages.map((id) => `${id} 0 R`).join(" ");

	it.each([
		[
			"of 2,001 pages",
			pdf(CATALOG, `<< /Type /Pages /Count 2001 /Kids [${kids}] >>`, ...pages.map(() => PAGE)),
			/^error: The file has 2001 pages; 2000 are the most$/,
		],
		[
			"of one page that is listed 100,000 times",
			pdf(CATALOG, `<< /Type /Pages /Count 100000 /Kids [${"3 0 R ".repeat(100_000)}] >>`, PAGE),
			/^error: The PDF is damaged$/,
		],
		[
			"that declares 2 billion pages",
			pdf(CATALOG, "<< /Type /Pages /Count 2000000000 /Kids [3 0 R] >>", PAGE),
			RECOVERED,
		],
		[
			"whose page tree is its own child",
			pdf(CATALOG, "<< /Type /Pages /Count 5 /Kids [2 0 R] >>"),
			RECOVERED,
		],
		["without pages", pdf(CATALOG), /^error: The PDF is damaged$/],
		["that is its header", strToU8("%PDF-1.7\n"), /^error: The PDF is damaged$/],
	])("%s", async (_, bytes, expected) => {
		expect(await textOf("a.pdf", bytes)).toMatch(expected);
	});
});

describe("a file that ends in its middle", () => {
	const binary = FIXTURE_NAMES.filter((name) => name !== "red.png");
	it.each(binary)("%s has a sentence, or what could be read", async (name) => {
		const whole = fixture(name);
		const text = await textOf(name, whole.subarray(0, whole.length / 2));
		expect(text).toMatch(/^error: The (?:file|PDF) is (?:damaged|encrypted)|^# /);
	});

	it.each(binary)("%s without content is empty", async (name) => {
		expect(await textOf(name, new Uint8Array())).toBe("error: The file is empty");
	});
});
