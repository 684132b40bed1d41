/** The module of each kind of document. Each is loaded with the first file that needs it. */

import type { EmbeddedImages } from "./embedded-images.ts";
import type { DocumentKind } from "./formats.ts";
import type { ConversionOptions } from "./options.ts";
import type { Work } from "./work.ts";

/** One file, as its kind receives it. */
export interface OpenedFile {
	name: string;
	/** The sender's type; may be empty. */
	sentType: string;
	bytes: Uint8Array;
	format: "markdown" | "text";
	options: ConversionOptions;
	/** The cost of the conversion is spent from it, before each step. */
	work: Work;
	/** Receives the images that models are to describe. */
	images: EmbeddedImages;
}

/** Returns the text. Throws a `ConversionFailure` with a sentence for the caller. */
export type KindConverter = (file: OpenedFile) => string | Promise<string>;

/** Images have none: they are described by models. */
export const CONVERTERS: Readonly<Record<Exclude<DocumentKind, "images">, () => Promise<KindConverter>>> = {
	html: async () => (await import("./html.ts")).convertHtml,
	csv: async () => (await import("./csv.ts")).convertCsv,
	xml: async () => (await import("./xml.ts")).convertXml,
	spreadsheets: async () => (await import("./spreadsheet.ts")).convertSpreadsheet,
	docx: async () => (await import("./docx.ts")).convertDocx,
	odt: async () => (await import("./odt.ts")).convertOdt,
	pdf: async () => (await import("./pdf.ts")).convertPdf,
};
