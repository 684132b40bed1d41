import { type Conversion, convertFiles } from "../../../src/retrieval/documents/convert.ts";
import type { ConversionOptions } from "../../../src/retrieval/documents/options.ts";

const encoder = new TextEncoder();

export async function convert(
	name: string,
	content: string | Uint8Array,
	options: ConversionOptions = {},
	mimeType = "",
): Promise<Conversion> {
	const bytes = typeof content === "string" ? encoder.encode(content) : content;
	const [conversion] = await convertFiles([{ name, mimeType, bytes }], options);
	if (!conversion) throw new Error("nothing was converted");
	return conversion;
}

/** The converted text, or the error. */
export async function textOf(...args: Parameters<typeof convert>): Promise<string> {
	const conversion = await convert(...args);
	return conversion.format === "error" ? `error: ${conversion.error}` : conversion.data;
}
