/** What can be said of an image without eyes: its media type, its size in pixels, its length. */
import { imageSize } from "image-size";
import { decodeBase64, splitDataUrl } from "../../media/base64.ts";
import type { ChatMessage } from "../../tasks/text-generation.ts";

/** Base64 characters read for the size; a JPEG with a large preview in its head has it further in, and goes without. */
const HEAD_CHARACTERS = 512 * 1024;

/** One sentence an image of the message; empty without images. */
export function imageFacts({ content }: ChatMessage): string[] {
	if (content === null || typeof content === "string") return [];
	const urls = content.flatMap(({ image_url }) => image_url?.url ?? []);
	return urls.map((url, index) => {
		const which = urls.length === 1 ? "The image" : `Image ${index + 1}`;
		return `${which} ${facts(url)}`;
	});
}

function facts(url: string): string {
	const { contentType, base64 = "" } = splitDataUrl(url) ?? {};
	if (base64 === "") return "is at an address, which I do not fetch.";
	const data = base64.replace(/\s+/g, "");
	const length = Math.floor((data.replace(/={1,2}$/, "").length * 3) / 4);
	const described = `${contentType?.split(";")[0] || "image"}, ${length.toLocaleString("en")} bytes`;
	try {
		const bytes = decodeBase64(data.slice(0, HEAD_CHARACTERS)) ?? new Uint8Array();
		const { width, height, type: format = "" } = imageSize(bytes);
		return `is ${width} by ${height} pixels (${format.toUpperCase()}; ${described}).`;
	} catch {
		return `has a size that I cannot read (${described}).`;
	}
}
