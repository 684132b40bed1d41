/** Converts ODT: `odf-kit` makes HTML of the parts of the container, and the writer of HTML makes Markdown of it. */
import { odtToHtml } from "odf-kit/odt-reader";
import { closeContainer, ENCRYPTED, isEncryptedOpenDocument, openContainer } from "./container.ts";
import { writeDocument } from "./html-document.ts";
import { boundedText } from "./open-document.ts";
import type { KindConverter } from "./opened-file.ts";
import { ConversionFailure, TOO_DEEP } from "./work.ts";

const TEXT_PART = /^(?:mimetype|content\.xml|styles\.xml|META-INF\/manifest\.xml)$/;
/** The description of an image, which is beside its title. */
const IMAGE_NOTE = /<span id="odf-img-[^"]*" hidden>[^<]*<\/span>/g;
const IMAGE_PART = /^Pictures\//;

export const convertOdt: KindConverter = (file) => {
	const { bytes, images, work } = file;
	const parts = openContainer(
		bytes,
		(name) => TEXT_PART.test(name) || (!images.isFull && IMAGE_PART.test(name)),
		work,
	);
	if (isEncryptedOpenDocument(parts)) throw new ConversionFailure(ENCRYPTED);
	const content = parts.get("content.xml");
	if (!content) throw new ConversionFailure("The file is damaged, or is not a text document");
	parts.set("content.xml", boundedText(content));
	return writeDocument(htmlOf(closeContainer(parts)), file);
};

function htmlOf(container: Uint8Array): string {
	try {
		return odtToHtml(container, { fragment: true }).replace(IMAGE_NOTE, "");
	} catch (cause) {
		if (cause instanceof RangeError) throw new ConversionFailure(TOO_DEEP, { cause });
		throw new ConversionFailure("The file is damaged, or is not a text document", { cause });
	}
}
