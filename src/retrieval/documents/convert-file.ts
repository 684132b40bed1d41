/**
 * Converts one file, in the isolate that calls it. Its cost is limited by `work.ts`; a parser that does not end can only be stopped from
 * outside: `convert.ts` calls this where that is possible.
 */
import { type EmbeddedImage, EmbeddedImages, maxImages } from "./embedded-images.ts";
import { type DocumentKind, detect } from "./formats.ts";
import { CONVERTERS } from "./kinds.ts";
import type { ConversionOptions } from "./options.ts";
import { ConversionFailure, Work } from "./work.ts";

export interface SourceFile {
	name: string;
	/** The sender's type; may be empty. */
	mimeType: string;
	bytes: Uint8Array;
}

export type ConvertedFile = {
	/** Units of `work.ts`. */
	work: number;
} & (
	| { format: "markdown" | "text"; data: string; images: EmbeddedImage[] }
	/**
	 * `unexpected`: the name and the places of an error that no sentence describes, for the log. Without its message, which may have text of
	 * the file.
	 */
	| { format: "error"; error: string; unexpected?: string }
);

/** Their text may be empty. */
const TEXT_KINDS: ReadonlySet<DocumentKind> = new Set(["html", "csv", "xml"]);
/** A longer text is not returned. */
const MAX_CHARACTERS = 8_000_000;

export async function convertFile(
	{ name, mimeType: sentType, bytes }: SourceFile,
	options: ConversionOptions,
): Promise<ConvertedFile> {
	const work = new Work();
	const { kind, label } = detect(name, sentType);
	const failed = (error: string, unexpected?: string): ConvertedFile => ({
		format: "error",
		error,
		work: work.spent,
		...(unexpected !== undefined && { unexpected }),
	});
	if (kind === undefined || kind === "images") return failed(`Unsupported file format: ${label}`);
	if (bytes.length === 0 && !TEXT_KINDS.has(kind)) return failed("The file is empty");
	try {
		const images = new EmbeddedImages(imagesIn(kind, options));
		const format = options.output?.format ?? "markdown";
		const convert = await CONVERTERS[kind]();
		const data = await convert({ name, sentType, bytes, format, options, work, images });
		if (data.length > MAX_CHARACTERS)
			return failed(`The file has more than ${MAX_CHARACTERS / 1_000_000} million characters of text`);
		return { format, data, images: images.found, work: work.spent };
	} catch (error) {
		if (error instanceof ConversionFailure) return failed(error.message);
		return failed(`The file could not be converted: ${label}`, placesOf(error));
	}
}

function imagesIn(kind: keyof typeof CONVERTERS, { html, docx, pdf }: ConversionOptions): number {
	switch (kind) {
		case "html":
			return maxImages(html?.images);
		case "pdf":
			return maxImages(pdf?.images);
		// The product has no options for ODT.
		case "docx":
		case "odt":
			return maxImages(docx?.images);
		default:
			return 0;
	}
}

function placesOf(error: unknown): string {
	if (!(error instanceof Error)) return typeof error;
	const places = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
	return [error.name, ...places].join("\n");
}
