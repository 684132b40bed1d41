/** Converts the parts of a message to content blocks. */
import { AiError } from "../../core/errors.ts";
import { decodeBase64, splitDataUrl } from "../../media/base64.ts";
import type { ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";

export interface Block {
	type: string;
	[field: string]: unknown;
}

/** The API refuses blank texts. */
const textBlocks = (text: string): Block[] => (text.trim() === "" ? [] : [{ type: "text", text }]);

export function blocksOf(content: ChatMessage["content"], call: Call): Block[] {
	if (content === null) return [];
	if (typeof content === "string") return textBlocks(content);
	return content.flatMap((part) => blockOf(part, call));
}

function blockOf(part: ContentPart, call: Call): Block[] {
	switch (part.type) {
		case "text":
			return textBlocks(part.text ?? "");
		case "refusal":
			return textBlocks(part.refusal ?? "");
		case "image_url":
			return [{ type: "image", source: urlSource(part.image_url?.url ?? "", call) }];
		case "file":
			return [documentOf(part.file ?? {}, call)];
		case "input_audio":
			throw unsupported(call, "takes no audio");
		default:
			return part.type satisfies never;
	}
}

/** The upstream fetches URLs itself; data URLs are sent inline. */
function urlSource(url: string, call: Call): object {
	if (!/^data:/i.test(url)) return { type: "url", url };
	const embedded = splitDataUrl(url);
	if (!embedded) throw unsupported(call, "takes data URLs in base64 alone");
	return { type: "base64", media_type: essenceOf(embedded.contentType), data: embedded.base64 };
}

/** A PDF, unless the media type is a text type. */
function documentOf({ file_data, filename }: NonNullable<ContentPart["file"]>, call: Call): Block {
	if (!file_data) throw unsupported(call, "takes files by their content, not by an id");
	const { contentType, base64: data } = splitDataUrl(file_data) ?? { contentType: "", base64: file_data };
	const type = essenceOf(contentType) || "application/pdf";
	const source = type.startsWith("text/")
		? { type: "text", media_type: "text/plain", data: textOfBase64(data) }
		: { type: "base64", media_type: type, data };
	return { type: "document", source, ...(filename && { title: filename }) };
}

/** Without parameters. */
const essenceOf = (contentType: string): string | undefined => contentType.split(";", 1)[0]?.toLowerCase();

function textOfBase64(data: string): string {
	const bytes = decodeBase64(data);
	if (!bytes) throw new AiError("invalidData");
	return new TextDecoder().decode(bytes);
}
