import { undecodableImage } from "../../core/undecodable-image.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import { badInput } from "../invalid-input.ts";
import { decodeBase64, decodeBinaryString, decodeDataUri, imageOf, type SentBytes } from "../media/media.ts";

/**
 * A string is a data URI, base64, or one character per byte. The schema only declares that it is binary, and callers send all
 * three. Throws 5006 for a URL, 5004 for invalid base64 and 3030 for bytes that are not an image.
 */
export function imagePart(sent: string | SentBytes): ContentPart {
	if (typeof sent === "string" && /^https?:/i.test(sent))
		throw badInput("'/image' must be the image itself, not its address");
	const { bytes, contentType } = imageOf(typeof sent === "string" ? bytesOf(sent) : sent);
	return { type: "image_url", image_url: { url: `data:${contentType};base64,${encodeBase64(bytes)}` } };
}

function bytesOf(text: string): SentBytes {
	const embedded = decodeDataUri(text);
	if (embedded) return embedded;
	// The bytes of an image never consist of base64 characters only.
	if (/^[A-Za-z0-9+/=\s]+$/.test(text)) return decodeBase64(text);
	const bytes = decodeBinaryString(text);
	if (!bytes) throw undecodableImage();
	return bytes;
}

export function withImage(messages: ChatMessage[], image: ContentPart): ChatMessage[] {
	const last = messages.findLastIndex(({ role }) => role === "user");
	const message = messages[last];
	if (!message) return [...messages, { role: "user", content: [image] }];
	const { content } = message;
	const parts: ContentPart[] =
		typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
	return messages.with(last, { ...message, content: [...parts, image] });
}
