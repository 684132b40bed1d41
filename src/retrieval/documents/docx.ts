/** Converts DOCX: `mammoth` makes HTML of the parts of the container, and the writer of HTML makes Markdown of it. */
import mammoth from "mammoth";
import { closeContainer, openContainer } from "./container.ts";
import { writeDocument } from "./html-document.ts";
import type { KindConverter } from "./opened-file.ts";
import { ConversionFailure, TOO_DEEP } from "./work.ts";

const TEXT_PART =
	/^(?:\[Content_Types\]\.xml|_rels\/\.rels|word\/(?!theme|fontTable|settings|webSettings)[^/]+\.xml|word\/_rels\/[^/]+\.rels)$/i;
/** Besides the parser's own: without it, the title of a document is a paragraph. */
const STYLES = ["p[style-name='Title'] => h1:fresh"];
const IMAGE_PART = /^word\/media\//i;

export const convertDocx: KindConverter = async (file) => {
	const { bytes, images, work } = file;
	const parts = openContainer(
		bytes,
		(name) => TEXT_PART.test(name) || (!images.isFull && IMAGE_PART.test(name)),
		work,
	);
	// The document names its images, and the parser reads each of them.
	const buffer = closeContainer(parts).buffer;
	const convertImage = mammoth.images.imgElement(async (image) => {
		if (images.isFull) return { src: "" };
		const content = await image.readAsArrayBuffer();
		return { src: images.store(image.contentType, new Uint8Array(content)) };
	});
	const { value } = await mammoth
		.convertToHtml({ arrayBuffer: buffer }, { convertImage, externalFileAccess: false, styleMap: STYLES })
		.catch((cause: unknown): never => {
			// The parser recurses into each element.
			const isDeep = cause instanceof RangeError;
			throw new ConversionFailure(isDeep ? TOO_DEEP : "The file is damaged, or is not a Word document", {
				cause,
			});
		});
	return writeDocument(value, file);
};
