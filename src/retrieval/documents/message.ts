/**
 * What a gateway and its converter exchange: a request with the length of a JSON header (4 bytes), the header and the file, and an answer
 * in JSON with its images in base64.
 */
import { decodeBase64, encodeBase64 } from "../../media/base64.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import type { ConvertedFile, SourceFile } from "./convert-file.ts";
import type { EmbeddedImage } from "./embedded-images.ts";
import type { ConversionOptions } from "./options.ts";

interface Header extends Omit<SourceFile, "bytes"> {
	options: ConversionOptions;
}

type ConvertedText = Exclude<ConvertedFile, { format: "error" }>;
type EncodedImage = Omit<EmbeddedImage, "bytes"> & { bytes: string };
type EncodedFile =
	| (Omit<ConvertedText, "images"> & { images: EncodedImage[] })
	| Extract<ConvertedFile, { format: "error" }>;

const LENGTH_BYTES = 4;
const NO_BYTES = new Uint8Array();

export function encodeFile(
	{ bytes, ...file }: SourceFile,
	options: ConversionOptions,
): Uint8Array<ArrayBuffer> {
	const header: Header = { ...file, options };
	const json = new TextEncoder().encode(JSON.stringify(header));
	const message = new Uint8Array(LENGTH_BYTES + json.length + bytes.length);
	new DataView(message.buffer).setUint32(0, json.length);
	message.set(json, LENGTH_BYTES);
	message.set(bytes, LENGTH_BYTES + json.length);
	return message;
}

export function decodeFile(message: Uint8Array): [file: SourceFile, options: ConversionOptions] {
	const { buffer, byteOffset } = message;
	const end = LENGTH_BYTES + new DataView(buffer, byteOffset).getUint32(0);
	const header = decodeUtf8(message.subarray(LENGTH_BYTES, end));
	const { options, ...file }: Header = JSON.parse(header);
	return [{ ...file, bytes: message.subarray(end) }, options];
}

export function encodeConverted(file: ConvertedFile): string {
	if (file.format === "error") return JSON.stringify(file);
	const images: EncodedImage[] = file.images.map((image) => ({ ...image, bytes: encodeBase64(image.bytes) }));
	return JSON.stringify({ ...file, images });
}

/** The converter is a part of this gateway, so that its answer is trusted to have the type. */
export function decodeConverted(text: string): ConvertedFile {
	const file: EncodedFile = JSON.parse(text);
	if (file.format === "error") return file;
	const images = file.images.map((image) => ({ ...image, bytes: decodeBase64(image.bytes) ?? NO_BYTES }));
	return { ...file, images };
}
