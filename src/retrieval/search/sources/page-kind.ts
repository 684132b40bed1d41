/** How the bytes of a page are converted. The server's media type decides; bytes that contradict it are no page. */
import { own } from "../../../core/own.ts";
import type { FetchedPage } from "./fetch-page.ts";

export interface PageKind {
	/** As it was sent, with its character set. */
	contentType: string;
	/** By its extension the file is converted. */
	fileName: string;
	isHtml: boolean;
}

/** By media type. A page may have any name, so its extension decides nothing. */
const EXTENSIONS: Readonly<Record<string, string>> = {
	"text/html": "html",
	"application/xhtml+xml": "html",
	"text/plain": "txt",
	"text/markdown": "md",
	"application/pdf": "pdf",
};
const PDF = "%PDF-";
/** Text that is longer has no zero byte in its first part. */
const SNIFFED_BYTES = 4_096;

/** `undefined`: the type is not indexed, or is not that of the bytes. */
export function pageKind(
	{ bytes, contentType }: Pick<FetchedPage, "bytes" | "contentType">,
	url: string,
): PageKind | undefined {
	const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
	const extension = own(EXTENSIONS, type);
	if (extension === undefined || bytes.length === 0) return undefined;
	const start = new TextDecoder("latin1").decode(bytes.subarray(0, SNIFFED_BYTES));
	const isPdf = start.startsWith(PDF);
	const isUtf16 = /^(?:\xff\xfe|\xfe\xff)/.test(start);
	if (isPdf !== (extension === "pdf") || (!isPdf && !isUtf16 && start.includes("\0"))) return undefined;
	const name = new URL(url).pathname.split("/").at(-1) || "page";
	return { contentType, fileName: `${name}.${extension}`, isHtml: extension === "html" };
}
