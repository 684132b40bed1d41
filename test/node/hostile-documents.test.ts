/**
 * Files that are made to harm the converter, in its own processes: each ends in an error with a sentence, and a file after it is
 * converted. `test/retrieval/documents/hostile.test.ts` has those that need no process.
 */
import { deflateSync } from "node:zlib";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, it } from "vitest";
import { modulesIn } from "../../miniflare/modules.ts";
import { type DocumentConverter, startConverter } from "../../scripts/documents/converter.ts";
import { bytesOf, convertBy, fixture, type Parts, withParts, wordDocument } from "./document-files.ts";

/** Puts `content` around itself. */
const nested = (open: string, close: string, depth: number, content = ""): string =>
	open.repeat(depth) + content + close.repeat(depth);

const RUN = "<w:r><w:t>x</w:t></w:r>";

const SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const SHEET = "xl/worksheets/sheet1.xml";
const workbook = (rows: string, after = "", parts: Parts = {}): Uint8Array =>
	withParts("prices.xlsx", {
		[SHEET]: `<worksheet xmlns="${SPREADSHEET}"><sheetData>${rows}</sheetData>${after}</worksheet>`,
		...parts,
	});
const CELL = '<row r="1"><c r="A1"><v>1</v></c></row>';
const sheets = (count: number): string =>
	`<workbook xmlns="${SPREADSHEET}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>${Array.from(
		{ length: count },
		(_, i) => `<sheet name="S${i}" sheetId="${i + 1}" r:id="rId1"/>`,
	).join("")}</sheets></workbook>`;
/** The body of the only element with this name is replaced. */
function openDocument(name: string, element: string, body: string): Uint8Array {
	const content = new TextDecoder().decode(unzipSync(fixture(name))["content.xml"]);
	const start = content.indexOf(">", content.indexOf(`<${element}`)) + 1;
	const changed = content.slice(0, start) + body + content.slice(content.indexOf(`</${element}>`));
	return withParts(name, { "content.xml": changed });
}
const odt = (body: string) => openDocument("report.odt", "office:text", body);
const ods = (body: string) => openDocument("prices.ods", "office:spreadsheet", body);
/** All parts of the format's own kind are replaced. */
const binaryParts = (name: string, extension: string, content: Uint8Array): Uint8Array =>
	withParts(
		name,
		Object.fromEntries(
			Object.keys(unzipSync(fixture(name)))
				.filter((part) => part.endsWith(extension))
				.map((part) => [part, content]),
		),
	);
const cell = (...bytes: number[]): Uint8Array => new Uint8Array(bytes);

/** A container of the old formats, whose table of sectors leads from a sector to itself. */
function cyclicContainer(): Uint8Array {
	const bytes = Buffer.alloc(512 * 4);
	bytes.write("d0cf11e0a1b11ae1", "hex");
	for (const [at, value] of [
		[24, 0x3e],
		[26, 3],
		[28, 0xfffe],
		[30, 9],
		[32, 6],
	] as const)
		bytes.writeUInt16LE(value, at);
	for (const [at, value] of [
		[44, 1],
		[48, 1],
		[56, 4_096],
		[60, 0xfffffffe],
		[68, 0xfffffffe],
	] as const)
		bytes.writeUInt32LE(value, at);
	bytes.fill(0xff, 80, 1_024);
	for (const [at, value] of [
		[512, 0xfffffffd],
		[516, 1],
		[520, 2],
	] as const)
		bytes.writeUInt32LE(value, at);
	return bytes;
}

const CATALOG = "<< /Type /Catalog /Pages 2 0 R >>";
const PAGES = "<< /Type /Pages /Count 1 /Kids [3 0 R] >>";
const FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
const PAGE =
	"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>";
const pdf = (objects: readonly (string | Uint8Array)[], trailer = ""): Uint8Array =>
	Buffer.concat([
		bytesOf("%PDF-1.7\n"),
		...objects.flatMap((object, i) => [
			bytesOf(`${i + 1} 0 obj\n`),
			typeof object === "string" ? bytesOf(object) : object,
			bytesOf("\nendobj\n"),
		]),
		bytesOf(`trailer\n<< /Root 1 0 R ${trailer}>>\n%%EOF`),
	]);
const stream = (content: Uint8Array, fields = ""): Uint8Array =>
	Buffer.concat([
		bytesOf(`<< /Length ${content.length} ${fields} >>\nstream\n`),
		content,
		bytesOf("\nendstream"),
	]);
const page = (content: Uint8Array, fields = "", ...more: (string | Uint8Array)[]): Uint8Array =>
	pdf([CATALOG, PAGES, PAGE, stream(content, fields), FONT, ...more]);
const DEFLATED = "/Filter /FlateDecode";
const bomb = (): Uint8Array => {
	let content: Uint8Array = Buffer.alloc(100_000_000);
	for (let layer = 0; layer < 3; layer++) content = deflateSync(content);
	return content;
};
const ENCRYPTION = `/Encrypt << /Filter /Standard /V 5 /R 6 /Length 256 /P -1 /O <${"00".repeat(48)}> /U <${"00".repeat(48)}> /OE <${"00".repeat(32)}> /UE <${"00".repeat(32)}> /Perms <${"00".repeat(16)}> >> /ID [<00><00>] `;

/** The end of the container says so; it has fewer. */
const manyParts = (): Uint8Array => {
	const bytes = Buffer.from(fixture("report.docx"));
	const end = bytes.lastIndexOf("PK\u0005\u0006");
	bytes.writeUInt16LE(65_535, end + 10);
	bytes.writeUInt32LE(0xffffffff, end + 16);
	return bytes;
};

const FILES: readonly (readonly [what: string, name: string, bytes: () => Uint8Array])[] = [
	[
		"tables inside of tables",
		"a.docx",
		() => wordDocument(nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 3_000)),
	],
	[
		"links inside of links",
		"a.docx",
		() => wordDocument(`<w:p>${nested('<w:hyperlink w:anchor="a">', "</w:hyperlink>", 5_000, RUN)}</w:p>`),
	],
	[
		"a DTD in UTF-16",
		"a.docx",
		() =>
			withParts("report.docx", {
				"word/document.xml": Buffer.from('\ufeff<!DOCTYPE a [<!ENTITY a "x">]><a>&a;</a>', "utf16le"),
			}),
	],
	[
		"150,000 names",
		"a.xlsx",
		() =>
			withParts("prices.xlsx", {
				"xl/workbook.xml": sheets(1).replace(
					"</sheets>",
					`</sheets><definedNames>${'<definedName name="a">A!$1:$1</definedName>'.repeat(500_000)}</definedNames>`,
				),
			}),
	],
	[
		"links over the sheet",
		"a.xlsx",
		() =>
			workbook(
				CELL,
				`<hyperlinks>${'<hyperlink ref="A1:XFD1048576" location="x"/>'.repeat(200)}</hyperlinks>`,
			),
	],
	[
		"a string of 60,000 formats, 3,000 times",
		"a.xlsx",
		() =>
			workbook('<row><c t="s"><v>0</v></c></row>'.repeat(3_000), "", {
				"xl/sharedStrings.xml": `<sst xmlns="${SPREADSHEET}"><si>${"<r><rPr><b/></rPr><t>x</t></r>".repeat(200_000)}</si></sst>`,
			}),
	],
	["a container that is its own next part", "a.xls", cyclicContainer],
	[
		"records longer than the file",
		"a.xlsb",
		() => binaryParts("prices.xlsb", ".bin", Buffer.alloc(80_000, "ffffff7f", "hex")),
	],
	[
		"lengths longer than the file",
		"a.xlsb",
		() =>
			binaryParts(
				"prices.xlsb",
				".bin",
				Buffer.concat([cell(0x91, 1, 0xff, 0xff, 0xff, 0x7f), Buffer.alloc(90_000)]),
			),
	],
	[
		"a copy that is longer than its text",
		"a.numbers",
		() =>
			binaryParts(
				"prices.numbers",
				".iwa",
				Buffer.concat([cell(0, 255, 255, 255, 255, 255, 255, 255, 15), Buffer.alloc(60_000, 0xfe)]),
			),
	],
	[
		"numbers without an end",
		"a.numbers",
		() =>
			binaryParts("prices.numbers", ".iwa", Buffer.concat([cell(0, 32, 0, 0, 32), Buffer.alloc(32, 0xff)])),
	],
	[
		"20,000 tables",
		"a.ods",
		() =>
			ods(
				'<table:table table:name="T"><table:table-row table:number-rows-repeated="99"><table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell></table:table-row></table:table>'.repeat(
					20_000,
				),
			),
	],
	[
		"lists inside of lists",
		"a.odt",
		() =>
			odt(
				nested("<text:list><text:list-item>", "</text:list-item></text:list>", 9_000, "<text:p>x</text:p>"),
			),
	],
	[
		"sections inside of sections",
		"a.odt",
		() => odt(nested("<text:section>", "</text:section>", 30_000, "<text:p>x</text:p>")),
	],
	[
		"formats inside of formats",
		"a.odt",
		() => odt(`<text:p>${nested('<text:span text:style-name="T1">', "</text:span>", 5_000, "x")}</text:p>`),
	],
	["a page of 300 MB in 300 KB", "a.pdf", () => page(deflateSync(Buffer.alloc(300_000_000, " ")), DEFLATED)],
	[
		"three bombs in each other",
		"a.pdf",
		() => page(bomb(), "/Filter [/FlateDecode /FlateDecode /FlateDecode]"),
	],
	[
		"50,000 groups of pages in each other",
		"a.pdf",
		() =>
			pdf([
				CATALOG,
				"<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
				FONT,
				FONT,
				...Array.from(
					{ length: 50_000 },
					(_, i) => `<< /Type /Pages /Parent ${i === 0 ? 2 : i + 4} 0 R /Count 1 /Kids [${i + 6} 0 R] >>`,
				),
			]),
	],
	[
		"200,000 arrays in each other",
		"a.pdf",
		() => pdf([CATALOG, PAGES, `<< /Type /Page /MediaBox ${nested("[", "]", 200_000)} >>`]),
	],
	[
		"a table of objects before itself",
		"a.pdf",
		() =>
			bytesOf(
				`%PDF-1.4\n1 0 obj\n${CATALOG}\nendobj\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Root 1 0 R /Prev 60 >>\nstartxref\n60\n%%EOF`,
			),
	],
	["a key of zeros", "a.pdf", () => pdf([CATALOG, PAGES, PAGE], ENCRYPTION)],
	["links in rows outside of cells", "a.html", () => bytesOf(`<table>${"<a><b>x<tr>".repeat(60_000)}`)],
	["SVG in HTML in SVG", "a.html", () => bytesOf("<svg><foreignObject><p>".repeat(20_000))],
	[
		"a table of 300,000 cells in a cell",
		"a.html",
		() =>
			bytesOf(`<table><tr><th>h<tr><td><table>${`<tr>${"<td>x".repeat(100)}`.repeat(3_000)}</table></table>`),
	],
	["a quote that never ends", "a.csv", () => bytesOf(`"${"a,".repeat(10_000_000)}`)],
	["nine million quotes", "a.csv", () => bytesOf('"a""'.repeat(3_000_000))],
	[
		"40,000 entities and 200,000 uses",
		"a.xml",
		() =>
			bytesOf(
				`<!DOCTYPE a [${Array.from({ length: 40_000 }, (_, i) => `<!ENTITY e${i} "${"x".repeat(100)}">`).join("")}]><a>${"&e1;".repeat(200_000)}</a>`,
			),
	],
	[
		"60,000 attributes",
		"a.xml",
		() => bytesOf(`<a ${Array.from({ length: 60_000 }, (_, i) => `x${i}="${"y".repeat(50)}"`).join(" ")}/>`),
	],
	["frames inside of frames", "a.html", () => bytesOf("<frameset>".repeat(200_000))],
	[
		"comments and sections without text",
		"a.xml",
		() => bytesOf(`<a>${"<!-- x --><?p y?><![CDATA[z]]>".repeat(200_000)}</a>`),
	],
	["a directory of 65,535 parts", "a.docx", manyParts],
];

let converter: DocumentConverter;
beforeAll(async () => {
	converter = await startConverter(async () => modulesIn("dist/documents"));
});
afterAll(() => converter.stop());

it.runIf(process.platform === "linux").each(FILES)("%s: %s", async (_, name, bytes) => {
	const convert = convertBy(converter);
	const converted = await convert(name, bytes());
	if (converted.format !== "error") throw new Error(`converted to ${converted.data.slice(0, 200)}`);
	expect(converted.error).toMatch(/^The (?:document|file|HTML|image|PDF) (?:has|is|takes) /);
	expect(await convert("a.csv", bytesOf("a"))).toMatchObject({ data: "| a |\n| --- |\n" });
});
