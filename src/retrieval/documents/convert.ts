/**
 * Converts files to Markdown or plain text. Each file is converted separately: a file that is too expensive or not readable gets an error
 * of its own, and the others are converted.
 */
import { isLeftOut } from "../../core/left-out.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import type { SourceFile } from "./convert-file.ts";
import type { Converter } from "./converter.ts";
import type { CallModel } from "./describe.ts";
import { type DocumentKind, detect } from "./formats.ts";
import type { ConversionOptions } from "./options.ts";
import { ConversionFailure, REQUEST_WORK } from "./work.ts";

export interface DocumentServices extends PipelineServices {
	convertDocument: Converter;
}

/** `bytes`: absent if the sender's base64 is invalid. */
export type SentFile = Omit<SourceFile, "bytes"> & { bytes?: Uint8Array | undefined };

export type Conversion = { name: string; mimeType: string } & (
	| { format: "markdown" | "text"; tokens: number; data: string }
	/** `unexpected`: see `ConvertedFile`. */
	| { format: "error"; error: string; unexpected?: string }
);

/** Who converts files. */
export interface ConversionCaller {
	account: string;
	/** Calls the models that describe images. */
	runModel: CallModel;
}

export async function convertFiles(
	files: readonly SentFile[],
	options: ConversionOptions,
	caller: ConversionCaller,
	services: DocumentServices,
): Promise<Conversion[]> {
	const request: RequestState = { work: 0, options, ...caller, services };
	const conversions: Conversion[] = [];
	for (const file of files) conversions.push(await convertFile(file, request));
	return conversions;
}

interface RequestState extends ConversionCaller {
	/** What the files until now have cost. */
	work: number;
	options: ConversionOptions;
	services: DocumentServices;
}

async function convertFile({ bytes, ...file }: SentFile, request: RequestState): Promise<Conversion> {
	const { name } = file;
	const { mimeType, kind, label } = detect(name, file.mimeType);
	const failed = (error: string, unexpected?: string): Conversion => {
		return { name, mimeType, format: "error", error, ...(unexpected !== undefined && { unexpected }) };
	};
	if (kind === undefined || isLeftOut(kind)) return failed(`Unsupported file format: ${label}`);
	if (!bytes) return failed("The file's data is not valid base64");
	try {
		const result = await textOf({ name, mimeType: file.mimeType, bytes }, { kind, mimeType }, request);
		if (result.format === "error") return failed(result.error, result.unexpected);
		const { format, data } = result;
		return { name, mimeType, format, tokens: approximateTokens([data]), data };
	} catch (error) {
		if (error instanceof ConversionFailure) return failed(error.message);
		throw error;
	}
}

type TextOrError =
	| { format: "markdown" | "text"; data: string }
	| { format: "error"; error: string; unexpected?: string };

async function textOf(
	file: SourceFile,
	{ kind, mimeType }: { kind: DocumentKind; mimeType: string },
	request: RequestState,
): Promise<TextOrError> {
	const { account, options, runModel, services } = request;
	if (kind === "images") {
		const { describeImage } = await import("./describe.ts");
		const { descriptionLanguage: language } = options.image ?? {};
		const data = await describeImage({ mimeType, bytes: file.bytes, language }, runModel, services);
		return { format: options.output?.format ?? "markdown", data: `${data}\n` };
	}
	if (request.work >= REQUEST_WORK)
		throw new ConversionFailure("The files of this request are together too large to convert at once");
	const converted = await services.convertDocument(file, options, account);
	request.work += converted.work;
	if (converted.format === "error" || converted.images.length === 0) return converted;
	const [{ describeImage, visionModel }, { withDescriptions }] = await Promise.all([
		import("./describe.ts"),
		import("./describe-embedded.ts"),
	]);
	visionModel(services);
	const { descriptionLanguage: language } = imageOptions(kind, options) ?? {};
	const data = await withDescriptions(converted, (image) =>
		describeImage({ ...image, language }, runModel, services),
	);
	return { format: converted.format, data };
}

const imageOptions = (kind: DocumentKind, { html, docx, pdf }: ConversionOptions) =>
	kind === "html" ? html?.images : kind === "pdf" ? pdf?.images : docx?.images;
