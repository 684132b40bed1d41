/** Replaces the places of embedded images by their descriptions. */
import type { EmbeddedImage } from "./embedded-images.ts";
import { escapeMarkdown } from "./escape.ts";

const MARKS = /\uE0F0\d+\uE0F1/g;

/** `describe`: throws if an image has no description; then the document's own text for it is written. */
export async function withDescriptions(
	{ data, images, format }: { data: string; images: readonly EmbeddedImage[]; format: "markdown" | "text" },
	describe: (image: EmbeddedImage) => Promise<string>,
): Promise<string> {
	const texts = new Map<string, string>();
	for (const image of images) {
		const text = await describe(image).catch(() => image.alt);
		texts.set(image.mark, format === "markdown" ? escapeMarkdown(text) : text);
	}
	// Each image has one place. The file's own text may contain the same characters.
	return data.replace(MARKS, (mark) => {
		const text = texts.get(mark) ?? "";
		texts.delete(mark);
		return text;
	});
}
