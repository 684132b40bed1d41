/**
 * Converts PDF: its metadata, then the content of each page. A page of a tagged document has a tree of its headings, lists and tables;
 * of another one the text is written as it is in the page.
 *
 * The product's form: `# name`, `## Metadata` with the keys of PDF.js, `## Contents`, `### Page 1`.
 */
import { getDocumentProxy } from "unpdf";
import { ENCRYPTED } from "./container.ts";
import { escapeMarkdown } from "./escape.ts";
import { writeDocument } from "./html-document.ts";
import type { KindConverter, OpenedFile } from "./opened-file.ts";
import { imagesOfPage } from "./pdf-images.ts";
import { structureOf } from "./pdf-structure.ts";
import type { PDFDocumentProxy, PDFPageProxy } from "./pdf-types.ts";
import { ConversionFailure } from "./work.ts";

export const MAX_PAGES = 2_000;
/** Larger images are left out: PDF.js needs 4 bytes for each pixel. */
const MAX_IMAGE_PIXELS = 4_000_000;
/** A page has an object for each piece of text, and fonts. */
const UNITS_PER_PAGE = 20;
const BYTES_PER_UNIT = 2_000;
const ITEMS_PER_UNIT = 5;

export const convertPdf: KindConverter = async (file) => {
	const { bytes, name, format, options, work } = file;
	work.spend(bytes.length / BYTES_PER_UNIT);
	const document = await open(bytes);
	try {
		const { numPages } = document;
		if (numPages > MAX_PAGES)
			throw new ConversionFailure(`The file has ${numPages} pages; ${MAX_PAGES} are the most`);
		const isMarkdown = format === "markdown";
		const heading = (level: number, text: string): string =>
			isMarkdown ? `${"#".repeat(level)} ${text}` : text;
		const sections = [heading(1, isMarkdown ? escapeMarkdown(name) : name)];
		if (options.pdf?.metadata !== false) {
			const lines = (await metadataOf(document)).map((line) => (isMarkdown ? `- ${line}` : line));
			sections.push(`${heading(2, "Metadata")}\n${lines.join("\n")}\n`);
		}
		sections.push(heading(2, "Contents"));
		for (let number = 1; number <= numPages; number++) {
			work.spend(UNITS_PER_PAGE);
			const content = await contentOf(document, number, file);
			sections.push(`${heading(3, `Page ${number}`)}\n${content}${content === "" ? "" : "\n"}`);
		}
		return `${sections.join("\n").trimEnd()}\n`;
	} catch (cause) {
		throw failureOf(cause);
	} finally {
		await document.loadingTask.destroy();
	}
};

const open = (bytes: Uint8Array): Promise<PDFDocumentProxy> =>
	getDocumentProxy(bytes.slice(), {
		stopAtErrors: false,
		disableFontFace: true,
		useSystemFonts: false,
		verbosity: 0,
		maxImageSize: MAX_IMAGE_PIXELS,
	}).catch((cause: unknown): never => {
		throw failureOf(cause);
	});

function failureOf(cause: unknown): unknown {
	if (cause instanceof ConversionFailure) return cause;
	if (cause instanceof Error && cause.name === "PasswordException") return new ConversionFailure(ENCRYPTED);
	if (cause instanceof RangeError) return new ConversionFailure("The PDF is nested too deeply", { cause });
	return new ConversionFailure("The PDF is damaged", { cause });
}

/** `Key=Value`, in the order of PDF.js. Values that are objects are those of other programs. */
async function metadataOf(document: PDFDocumentProxy): Promise<string[]> {
	const { info } = await document.getMetadata();
	return Object.entries(info)
		.filter(([, value]) => value !== null && typeof value !== "object")
		.map(([key, value]) => `${key}=${String(value).replace(/\s+/g, " ")}`);
}

async function contentOf(document: PDFDocumentProxy, number: number, file: OpenedFile): Promise<string> {
	const page = await document.getPage(number);
	try {
		const text = await textOf(page, file);
		if (file.images.isFull) return text;
		const marks = await imagesOfPage(document, number, file);
		return [text, ...marks].filter(Boolean).join("\n\n");
	} finally {
		page.cleanup();
	}
}

async function textOf(page: PDFPageProxy, file: OpenedFile): Promise<string> {
	const { work } = file;
	const tree = await page.getStructTree();
	const { items } = await page.getTextContent({ includeMarkedContent: true });
	work.spend(items.length / ITEMS_PER_UNIT);
	if (tree) {
		const structure = structureOf(tree, items, await linksOf(page));
		if (structure) return writeDocument(structure, file).trimEnd();
	}
	const text = items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("");
	work.spendCharacters(text.length);
	return text.trim();
}

async function linksOf(page: PDFPageProxy): Promise<Map<string, string>> {
	const annotations: { id?: unknown; url?: unknown }[] = await page.getAnnotations();
	return new Map(
		annotations.flatMap(({ id, url }) =>
			typeof id === "string" && typeof url === "string" ? [[id, url] as const] : [],
		),
	);
}
