/**
 * The table of file formats: extension, media type, and the kind that converts it. The order is that of the product's page
 * (developers.cloudflare.com/workers-ai/features/markdown-conversion/supported-formats).
 */
import { isLeftOut } from "../../core/left-out.ts";
import { own } from "../../core/own.ts";

/** A kind has one module (`kinds.ts`), which a deployment can leave out. */
export const DOCUMENT_KINDS = ["pdf", "images", "html", "xml", "spreadsheets", "docx", "odt", "csv"] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

const KNOWN: Readonly<Record<string, readonly [mimeType: string, kind: DocumentKind]>> = {
	".pdf": ["application/pdf", "pdf"],
	".jpeg": ["image/jpeg", "images"],
	".jpg": ["image/jpeg", "images"],
	".png": ["image/png", "images"],
	".webp": ["image/webp", "images"],
	".svg": ["image/svg+xml", "images"],
	".gif": ["image/gif", "images"],
	".bmp": ["image/bmp", "images"],
	".html": ["text/html", "html"],
	".htm": ["text/html", "html"],
	".xml": ["application/xml", "xml"],
	".xlsx": ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "spreadsheets"],
	".xlsm": ["application/vnd.ms-excel.sheet.macroenabled.12", "spreadsheets"],
	".xlsb": ["application/vnd.ms-excel.sheet.binary.macroenabled.12", "spreadsheets"],
	".xls": ["application/vnd.ms-excel", "spreadsheets"],
	".et": ["application/vnd.ms-excel", "spreadsheets"],
	".docx": ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
	".ods": ["application/vnd.oasis.opendocument.spreadsheet", "spreadsheets"],
	".odt": ["application/vnd.oasis.opendocument.text", "odt"],
	".csv": ["text/csv", "csv"],
	".numbers": ["application/vnd.apple.numbers", "spreadsheets"],
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
	.filter(([, [, kind]]) => !isLeftOut(kind))
	.map(([extension, [mimeType]]) => ({ extension, mimeType }));

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
	const known = own(KNOWN, extension) ?? Object.values(KNOWN).find(([mimeType]) => mimeType === type);
	const [mimeType = type || "application/octet-stream", kind] = known ?? [];
	const label = extension ? `${extension} (${mimeType})` : mimeType;
	return { mimeType, kind, label: label.slice(0, MAX_LABEL) };
}
