/** What can be said of an image without eyes: its media type, its size in pixels, its length. */
import { imageSize } from "image-size";
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
	const [, type = "", encoded = ""] = /^data:([^;,]*)(?:;[^,]*)?;base64,([\s\S]*)$/i.exec(url) ?? [];
	if (encoded === "") return "is at an address, which I do not fetch.";
	const data = encoded.replace(/\s+/g, "");
	const length = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
	const described = `${type || "image"}, ${length.toLocaleString("en")} bytes`;
	try {
		const { width, height, type: format = "" } = imageSize(decode(data.slice(0, HEAD_CHARACTERS)));
		return `is ${width} by ${height} pixels (${format.toUpperCase()}; ${described}).`;
	} catch {
		return `has a size that I cannot read (${described}).`;
	}
}

function decode(base64: string): Uint8Array {
	const whole = base64.slice(0, base64.length - (base64.length % 4 === 1 ? 1 : 0));
	return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
}
