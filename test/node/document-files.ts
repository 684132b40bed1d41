/** Documents of the tests of conversions, changed ones too, and calls of a converter. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import type { DocumentConverter } from "../../scripts/documents/converter.ts";
import type { ConvertedFile } from "../../src/retrieval/documents/convert-file.ts";
import { remoteConverter } from "../../src/retrieval/documents/converter.ts";

/** By name. */
export type Parts = Record<string, string | Uint8Array>;

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const fixture = (name: string): Uint8Array =>
	new Uint8Array(readFileSync(join("test/fixtures/documents", name)));

/** The document with these parts in place of its own. */
export const withParts = (name: string, parts: Parts): Uint8Array =>
	zipSync({
		...unzipSync(fixture(name)),
		...Object.fromEntries(
			Object.entries(parts).map(([part, content]) => [
				part,
				typeof content === "string" ? bytesOf(content) : content,
			]),
		),
	});

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** `body`: WordprocessingML. */
export const wordDocument = (body: string): Uint8Array =>
	withParts("report.docx", {
		"word/document.xml": `<w:document ${WORD}><w:body>${body}</w:body></w:document>`,
	});

export const convertBy =
	({ address }: DocumentConverter) =>
	(name: string, bytes: Uint8Array, account = "a"): Promise<ConvertedFile> =>
		remoteConverter((request) => fetch(address, request))({ name, mimeType: "", bytes }, {}, account);
