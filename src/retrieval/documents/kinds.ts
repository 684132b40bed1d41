/** The module of each kind of document. Each is loaded with the first file that needs it. */
import type { DocumentKind } from "./formats.ts";
import type { KindConverter } from "./opened-file.ts";

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
