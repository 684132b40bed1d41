/** The text of an uploaded file: that of a text file as it is, and Markdown of the other kinds of documents. */
import { convertFiles } from "../documents/convert.ts";
import type { SourceFile } from "../documents/convert-file.ts";
import { UNSAFE } from "../documents/converter.ts";
import { decodeText } from "../documents/decode.ts";
import { detect } from "../documents/formats.ts";
import { ConversionFailure } from "../documents/work.ts";
import { MAX_FILE_BYTES, MAX_TEXT_BYTES } from "./limits.ts";
import type { SearchModels } from "./models.ts";
import type { SearchRoomServices } from "./services.ts";

/** Why an item cannot be indexed. `errorType`: the product's name of the error. */
export class ItemFailure extends Error {
	override readonly name = "ItemFailure";
	readonly errorType: string;
	/** Another attempt may succeed. */
	readonly isInterruption: boolean;

	constructor(errorType: string, message: string, { isInterruption = false } = {}) {
		super(message);
		this.errorType = errorType;
		this.isInterruption = isInterruption;
	}
}

/** developers.cloudflare.com/ai-search/configuration/data-source: files that are indexed as they are. */
const TEXT_EXTENSIONS: ReadonlySet<string> = new Set(
	(
		"txt rst log ini conf env properties gitignore editorconfig toml md markdown mdx tex latex sh bat ps1 sgml json jsonl ndjson " +
		"yaml yml css scss less js mjs cjs jsx ts mts cts tsx php py rb java c h cc cpp cxx hh hpp cs go rs swift kt scala lua pl r sql vue svelte"
	).split(" "),
);

const TEXT_TYPE =
	/^text\/(?!html|csv|xml)|^application\/(?:json|x-ndjson|yaml|x-yaml|toml|javascript|typescript|x-sh)$/i;

const extensionOf = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";

const isText = ({ mimeType, name }: Pick<SourceFile, "name" | "mimeType">): boolean => {
	const extension = extensionOf(name);
	if (TEXT_EXTENSIONS.has(extension)) return true;
	return detect(name, mimeType).kind === undefined && TEXT_TYPE.test(mimeType.split(";", 1)[0]?.trim() ?? "");
};

export const isSupported = (file: Pick<SourceFile, "name" | "mimeType">): boolean =>
	isText(file) || detect(file.name, file.mimeType).kind !== undefined;

/** Bytes of a file of this kind. */
export const maxBytesOf = (file: Pick<SourceFile, "name" | "mimeType">): number =>
	isText(file) ? MAX_TEXT_BYTES : MAX_FILE_BYTES;

/** Throws `ItemFailure`, and the errors of models that describe images. */
export async function markdownOf(
	file: SourceFile,
	/** `base`: the address of a page, of at most 300 characters: its links are relative to it. */
	{ account, base }: { account: string; base?: string | undefined },
	models: SearchModels,
	services: SearchRoomServices,
): Promise<string> {
	if (file.bytes.length === 0) throw new ItemFailure("file_content_empty", "The file is empty");
	if (isText(file)) return plainText(file);
	const [converted] = await convertFiles(
		[file],
		base === undefined ? {} : { html: { hostname: base } },
		{ account, runModel: (model, { body, fields }) => models.native(model, fields, body) },
		services,
	);
	if (!converted || converted.format === "error")
		throw new ItemFailure(
			"unable_to_convert_to_markdown",
			converted?.error ?? "The file could not be converted",
			{ isInterruption: converted?.error === UNSAFE },
		);
	if (converted.data.trim() === "")
		throw new ItemFailure("markdown_conversion_empty", "The file has no text");
	return converted.data;
}

function plainText({ bytes, mimeType }: SourceFile): string {
	try {
		return decodeText(bytes, mimeType);
	} catch (thrown) {
		if (!(thrown instanceof ConversionFailure)) throw thrown;
		throw new ItemFailure("unable_to_convert_to_markdown", thrown.message);
	}
}
