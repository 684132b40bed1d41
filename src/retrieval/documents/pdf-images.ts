/** The images of a page of a PDF, as PNG. PDF.js gives their pixels. */
import { encode } from "fast-png";
import { extractImages } from "unpdf";
import type { OpenedFile } from "./opened-file.ts";
import type { PDFDocumentProxy } from "./pdf-types.ts";

/** Smaller images are lines and bullets. */
const MIN_SIDE = 32;
const PIXELS_PER_UNIT = 2_000;

/** Returns the places of their descriptions. */
export async function imagesOfPage(
	document: PDFDocumentProxy,
	number: number,
	{ images, work }: OpenedFile,
): Promise<string[]> {
	const marks: string[] = [];
	for (const { data, width, height, channels } of await extractImages(document, number)) {
		if (images.isFull) break;
		if (width < MIN_SIDE || height < MIN_SIDE) continue;
		work.spend((width * height) / PIXELS_PER_UNIT);
		const mark = images.add("image/png", encode({ data: new Uint8Array(data), width, height, channels }));
		if (mark !== undefined) marks.push(mark);
	}
	return marks;
}
