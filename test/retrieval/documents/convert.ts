import { type Conversion, convertFiles, type SentFile } from "../../../src/retrieval/documents/convert.ts";
import type { CallModel } from "../../../src/retrieval/documents/describe.ts";
import type { ConversionOptions } from "../../../src/retrieval/documents/options.ts";
import { testServices } from "../../gateway.ts";

const encoder = new TextEncoder();

const noModel: CallModel = async (model) => {
	throw new Error(`no test expects a call of ${model}`);
};

/** `services`: default: the simulator serves the models. */
export const convertAll = (
	files: readonly SentFile[],
	options: ConversionOptions = {},
	runModel = noModel,
	services = testServices(),
): Promise<Conversion[]> => convertFiles(files, options, { account: "a", runModel }, services);

export async function convert(
	name: string,
	content: string | Uint8Array,
	options: ConversionOptions = {},
	mimeType = "",
	runModel = noModel,
): Promise<Conversion> {
	const bytes = typeof content === "string" ? encoder.encode(content) : content;
	const [conversion] = await convertAll([{ name, mimeType, bytes }], options, runModel);
	if (!conversion) throw new Error("nothing was converted");
	return conversion;
}

/** The converted text, or the error. */
export async function textOf(...args: Parameters<typeof convert>): Promise<string> {
	const conversion = await convert(...args);
	return conversion.format === "error" ? `error: ${conversion.error}` : conversion.data;
}
