/**
 * The product's file formats (developers.cloudflare.com/workers-ai/features/markdown-conversion/supported-formats), and
 * which of them this gateway converts. The others need a model that describes images, or a parser of PDF and office files;
 * this gateway has neither.
 */

import { isLeftOut } from "../../core/left-out.ts";

export type Format = "html" | "csv" | "xml";

interface KnownFormat {
	mimeType: string;
	/** Absent if the format is known but not converted here. */
	format?: Format;
}

const KNOWN: Readonly<Record<string, KnownFormat>> = {
	".html": { mimeType: "text/html", format: "html" },
	".htm": { mimeType: "text/html", format: "html" },
	".xml": { mimeType: "application/xml", format: "xml" },
	".csv": { mimeType: "text/csv", format: "csv" },
	".pdf": { mimeType: "application/pdf" },
	".jpeg": { mimeType: "image/jpeg" },
	".jpg": { mimeType: "image/jpeg" },
	".png": { mimeType: "image/png" },
	".webp": { mimeType: "image/webp" },
	".svg": { mimeType: "image/svg+xml" },
	".gif": { mimeType: "image/gif" },
	".bmp": { mimeType: "image/bmp" },
	".docx": { mimeType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	".xlsx": { mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	".xlsm": { mimeType: "application/vnd.ms-excel.sheet.macroenabled.12" },
	".xlsb": { mimeType: "application/vnd.ms-excel.sheet.binary.macroenabled.12" },
	".xls": { mimeType: "application/vnd.ms-excel" },
	".et": { mimeType: "application/vnd.ms-excel" },
	".ods": { mimeType: "application/vnd.oasis.opendocument.spreadsheet" },
	".odt": { mimeType: "application/vnd.oasis.opendocument.text" },
	".numbers": { mimeType: "application/vnd.apple.numbers" },
};

/** Other media types of the same formats. */
const ALIASES: Readonly<Record<string, string>> = {
	"application/xhtml+xml": "text/html",
	"text/xml": "application/xml",
	"application/csv": "text/csv",
};

export interface SupportedFormat {
	extension: string;
	mimeType: string;
}

export const SUPPORTED: readonly SupportedFormat[] = Object.entries(KNOWN)
	.filter(([, { format }]) => format && !isLeftOut("markdown"))
	.map(([extension, { mimeType }]) => ({ extension, mimeType }));

interface Detected {
	/** The detected type, not the sender's. */
	mimeType: string;
	format?: Format | undefined;
	/** For error messages: `.pdf (application/pdf)`. */
	label: string;
}

/**
 * Detects the format by the file name's extension, else by the sender's type. Browsers and curl guess types from names,
 * often wrongly (`.csv` is `application/vnd.ms-excel` on some machines).
 */
export function detect(name: string, sentType: string): Detected {
	const extension = /\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? "";
	const essence = sentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
	const type = Object.hasOwn(ALIASES, essence) ? ALIASES[essence] : essence;
	const known = Object.hasOwn(KNOWN, extension)
		? KNOWN[extension]
		: Object.values(KNOWN).find(({ mimeType }) => mimeType === type);
	const mimeType = known?.mimeType ?? (type || "application/octet-stream");
	return {
		mimeType,
		format: isLeftOut("markdown") ? undefined : known?.format,
		label: extension ? `${extension} (${mimeType})` : mimeType,
	};
}
