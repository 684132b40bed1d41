/**
 * Converts files to Markdown or plain text. Each file is converted separately: a file that is too expensive or not
 * readable gets an error of its own, and the others are converted. Libraries are loaded with the first file that needs
 * them.
 */
import { approximateTokens } from "../../counting/token-estimate.ts";
import { decodeText } from "./decode.ts";
import { detect, type Format } from "./formats.ts";
import type { ConversionOptions, Converter } from "./options.ts";
import { ConversionFailure, Work } from "./work.ts";

export interface SourceFile {
	name: string;
	/** The sender's type; may be empty. */
	mimeType: string;
	/** Absent if the sender's base64 is invalid. */
	bytes?: Uint8Array | undefined;
}

export type Conversion = { name: string; mimeType: string } & (
	| { format: "markdown" | "text"; tokens: number; data: string }
	/** `cause` is set for unexpected errors, for the log. */
	| { format: "error"; error: string; cause?: unknown }
);

export async function convertFiles(
	files: readonly SourceFile[],
	options: ConversionOptions,
): Promise<Conversion[]> {
	const work = Work.ofRequest();
	const conversions: Conversion[] = [];
	for (const file of files) conversions.push(await convertFile(file, options, work.ofFile()));
	return conversions;
}

async function convertFile(
	{ name, mimeType: sentType, bytes }: SourceFile,
	options: ConversionOptions,
	work: Work,
): Promise<Conversion> {
	const { mimeType, format: source, label } = detect(name, sentType);
	const failed = (error: string, unexpected?: { cause: unknown }): Conversion => {
		return { name, mimeType, format: "error", error, ...unexpected };
	};
	if (!source) return failed(`Unsupported file format: ${label}`);
	if (!bytes) return failed("The file's data is not valid base64");
	try {
		work.spendCharacters(bytes.length / COST_DIVISORS[source]);
		const format = options.output?.format ?? "markdown";
		const convert = await CONVERTERS[source]();
		const data = convert(decodeText(bytes, sentType), { ...options.html, format, work });
		return { name, mimeType, format, tokens: approximateTokens([data]), data };
	} catch (error) {
		if (error instanceof ConversionFailure) return failed(error.message);
		return failed(`The file could not be converted: ${label}`, { cause: error });
	}
}

/** How many times cheaper a character is than in HTML. */
const COST_DIVISORS: Record<Format, number> = { html: 1, csv: 10, xml: 1 };

const CONVERTERS: Record<Format, () => Promise<Converter>> = {
	html: async () => (await import("./html.ts")).convertHtml,
	csv: async () => (await import("./csv.ts")).convertCsv,
	xml: async () => (await import("./xml.ts")).convertXml,
};
