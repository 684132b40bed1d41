/**
 * The table of file formats: extension, media type, and the kind that converts it. The order is that of the product's page
 * (developers.cloudflare.com/workers-ai/features/markdown-conversion/supported-formats).
 */
import { isLeftOut } from "../../core/left-out.ts";
import { own } from "../../core/own.ts";

/** A kind has one module (`kinds.ts`), which a deployment can leave out. */
export const DOCUMENT_KINDS = ["pdf", "images", "html", "xml", "spreadsheets", "docx", "odt", "csv"] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

interface KnownFormat {
	mimeType: string;
	kind: DocumentKind;
}

const KNOWN: Readonly<Record<string, KnownFormat>> = {
	".pdf": { mimeType: "application/pdf", kind: "pdf" },
	".jpeg": { mimeType: "image/jpeg", kind: "images" },
	".jpg": { mimeType: "image/jpeg", kind: "images" },
	".png": { mimeType: "image/png", kind: "images" },
	".webp": { mimeType: "image/webp", kind: "images" },
	".svg": { mimeType: "image/svg+xml", kind: "images" },
	".gif": { mimeType: "image/gif", kind: "images" },
	".bmp": { mimeType: "image/bmp", kind: "images" },
	".html": { mimeType: "text/html", kind: "html" },
	".htm": { mimeType: "text/html", kind: "html" },
	".xml": { mimeType: "application/xml", kind: "xml" },
	".xlsx": {
		mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		kind: "spreadsheets",
	},
	".xlsm": { mimeType: "application/vnd.ms-excel.sheet.macroenabled.12", kind: "spreadsheets" },
	".xlsb": { mimeType: "application/vnd.ms-excel.sheet.binary.macroenabled.12", kind: "spreadsheets" },
	".xls": { mimeType: "application/vnd.ms-excel", kind: "spreadsheets" },
	".et": { mimeType: "application/vnd.ms-excel", kind: "spreadsheets" },
	".docx": {
		mimeType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		kind: "docx",
	},
	".ods": { mimeType: "application/vnd.oasis.opendocument.spreadsheet", kind: "spreadsheets" },
	".odt": { mimeType: "application/vnd.oasis.opendocument.text", kind: "odt" },
	".csv": { mimeType: "text/csv", kind: "csv" },
	".numbers": { mimeType: "application/vnd.apple.numbers", kind: "spreadsheets" },
};

/** Other media types of the same formats. */
const ALIASES: Readonly<Record<string, string>> = {
	"application/xhtml+xml": "text/html",
	"text/xml": "application/xml",
	"application/csv": "text/csv",
	"image/jpg": "image/jpeg",
	"image/x-ms-bmp": "image/bmp",
};

export interface SupportedFormat {
	extension: string;
	mimeType: string;
}

export const SUPPORTED: readonly SupportedFormat[] = Object.entries(KNOWN)
	.filter(([, { kind }]) => !isLeftOut(kind))
	.map(([extension, { mimeType }]) => ({ extension, mimeType }));

interface Detected {
	/** The detected type, not the sender's. */
	mimeType: string;
	/** Absent if the format is unknown. */
	kind?: DocumentKind | undefined;
	/** For error messages: `.pdf (application/pdf)`. */
	label: string;
}

/** The longest extension or type that an error message shows. */
const MAX_LABEL = 100;

/**
 * Detects the format by the file name's extension, else by the sender's type. Browsers and curl guess types from names,
 * often wrongly (`.csv` is `application/vnd.ms-excel` on some machines).
 */
export function detect(name: string, sentType: string): Detected {
	const extension = /\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? "";
	const essence = sentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
	const type = own(ALIASES, essence) ?? essence;
	const known = own(KNOWN, extension) ?? Object.values(KNOWN).find(({ mimeType }) => mimeType === type);
	const mimeType = known?.mimeType ?? (type || "application/octet-stream");
	const label = extension ? `${extension} (${mimeType})` : mimeType;
	return { mimeType, kind: known?.kind, label: label.slice(0, MAX_LABEL) };
}
