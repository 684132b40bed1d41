import { describe, expect, it } from "vitest";
import { SUPPORTED } from "../../../src/retrieval/documents/formats.ts";
import { convert, convertAll, textOf } from "./convert.ts";
import { ALL_FORMATS } from "./supported.ts";

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);
const latin = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("conversion of files", () => {
	it("returns the type, the text and the tokens of each file", async () => {
		expect(await convert("a.csv", "a,b\n")).toEqual({
			name: "a.csv",
			mimeType: "text/csv",
			format: "markdown",
			tokens: 9,
			data: "| a | b |\n| --- | --- |\n",
		});
		expect(await convert("a.csv", "a,b\n", { output: { format: "text" } })).toEqual({
			name: "a.csv",
			mimeType: "text/csv",
			format: "text",
			tokens: 3,
			data: "a\tb\n",
		});
	});

	it("lists what it converts", () => {
		expect(SUPPORTED).toEqual(ALL_FORMATS);
	});

	it.each([
		["PAGE.HTM", "", "text/html"],
		["data.csv", "application/vnd.ms-excel", "text/csv"],
		["page", "text/html; charset=utf-8", "text/html"],
		["index.php", "Text/HTML", "text/html"],
		["feed", "text/xml", "application/xml"],
		["page", "application/xhtml+xml", "text/html"],
	])("takes %s of type %j for %s", async (name, sent, mimeType) => {
		expect(await convert(name, "<a>1</a>", {}, sent)).toMatchObject({ format: "markdown", mimeType });
	});

	it.each([
		["notes.md", "text/markdown", "text/markdown", ".md (text/markdown)"],
		["notes.txt", "", "application/octet-stream", ".txt (application/octet-stream)"],
		["a.doc", "application/msword", "application/msword", ".doc (application/msword)"],
		["constructor", "", "application/octet-stream", "application/octet-stream"],
		["x.constructor", "constructor", "constructor", ".constructor (constructor)"],
	])("names the format of %s, which it cannot convert", async (name, sent, mimeType, label) => {
		expect(await convert(name, "x", {}, sent)).toEqual({
			name,
			mimeType,
			format: "error",
			error: `Unsupported file format: ${label}`,
		});
	});

	it("keeps the files apart: one that is bad fails alone", async () => {
		const files = [
			{ name: "a.xml", mimeType: "", bytes: latin("<a>") },
			{ name: "b.xml", mimeType: "", bytes: latin("<a>1</a>") },
			{ name: "c.xml", mimeType: "" },
			{ name: "d.html", mimeType: "", bytes: bytes(0x25, 0x50, 0x44, 0x46, 0) },
		];
		expect(await convertAll(files)).toMatchObject([
			{ name: "a.xml", format: "error", error: "The XML is not well-formed: line 1, column 4" },
			{ name: "b.xml", format: "markdown", data: "- **a**: 1\n" },
			{ name: "c.xml", format: "error", error: "The file's data is not valid base64" },
			{ name: "d.html", format: "error", error: "The file is not text" },
		]);
	});
});

describe("the text of a file", () => {
	it.each([
		["UTF-8", new TextEncoder().encode("é"), ""],
		["UTF-8 with its mark", bytes(0xef, 0xbb, 0xbf, 0xc3, 0xa9), ""],
		["UTF-16 by its mark", bytes(0xff, 0xfe, 0xe9, 0x00), ""],
		["what is not UTF-8", latin("\xe9"), ""],
		["what its sender says", latin("\x82"), "text/csv; charset=cp850-unknown"],
		["an ISO 8859-2 sender", latin("\xe9"), 'text/csv; charset="iso-8859-2"'],
	])("is read as %s", async (name, content, type) => {
		const expected = name === "what its sender says" ? "‚" : "é";
		expect(await textOf("a.csv", content, { output: { format: "text" } }, type)).toBe(`${expected}\n`);
	});

	it("is decoded with the charset that the file declares", async () => {
		expect(await textOf("a.html", latin('<meta charset="windows-1251"><p>\xcf\xf0\xe8'))).toBe("При\n");
		expect(
			await textOf("a.xml", latin('<?xml version="1.0" encoding="iso-8859-5"?><a>\xbf\xe0\xd8</a>')),
		).toBe("- **a**: При\n");
		expect(await textOf("a.html", '<meta charset="utf-16"><p>é')).toBe("é\n");
	});
});
