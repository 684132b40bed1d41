/** The image beside the messages of Llama 3.2 vision, as one more part of the last thing the user said. */
import { AiError } from "../../core/errors.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import type { ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import {
	decodeBase64,
	decodeBinaryString,
	decodeDataUri,
	encodeBase64,
	imageOf,
	type SentBytes,
} from "../media/media.ts";

/**
 * A string is a data URI, base64, or one character a byte: the schema says only that it is binary, and callers send
 * all three. Throws 5006 for an address, 5004 for base64 that does not decode, 3030
 * for bytes that are no image.
 */
export function imagePart(sent: string | SentBytes): ContentPart {
	if (typeof sent === "string" && /^https?:/i.test(sent))
		throw new AiError("badInput", "Error: '/image' must be the image itself, not its address");
	const { bytes, contentType } = imageOf(typeof sent === "string" ? bytesOf(sent) : sent);
	return { type: "image_url", image_url: { url: `data:${contentType};base64,${encodeBase64(bytes)}` } };
}

function bytesOf(text: string): SentBytes {
	const embedded = decodeDataUri(text);
	if (embedded) return embedded;
	// No image is made of base64's letters alone, so there is no doubt about what they are.
	if (/^[A-Za-z0-9+/=\s]+$/.test(text)) return decodeBase64(text);
	const bytes = decodeBinaryString(text);
	if (!bytes) throw undecodableImage();
	return bytes;
}

export function withImage(messages: ChatMessage[], image: ContentPart): ChatMessage[] {
	const last = messages.findLastIndex(({ role }) => role === "user");
	const asked = messages[last];
	if (!asked) return [...messages, { role: "user", content: [image] }];
	const said: ContentPart[] =
		typeof asked.content === "string" ? [{ type: "text", text: asked.content }] : (asked.content ?? []);
	return messages.with(last, { ...asked, content: [...said, image] });
}
