/** Converts the parts of a message to content blocks. */
import { AiError } from "../../core/errors.ts";
import type { ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unable } from "./refusals.ts";

export interface Block {
	type: string;
	[field: string]: unknown;
}

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/i;

/** The API refuses blank texts. */
export const textBlocks = (text: string): Block[] => (text.trim() === "" ? [] : [{ type: "text", text }]);

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
			throw unable(call, "takes no audio");
		default:
			return part.type satisfies never;
	}
}

/** The upstream fetches URLs itself; data URLs are sent inline. */
function urlSource(url: string, call: Call): object {
	if (!/^data:/i.test(url)) return { type: "url", url };
	const match = DATA_URL.exec(url);
	if (!match) throw unable(call, "takes data URLs in base64 alone");
	return { type: "base64", media_type: match[1]?.toLowerCase(), data: url.slice(match[0].length) };
}

/** A PDF, unless the media type is a text type. */
function documentOf({ file_data, filename }: NonNullable<ContentPart["file"]>, call: Call): Block {
	if (!file_data) throw unable(call, "takes files by their content, not by an id");
	const match = DATA_URL.exec(file_data);
	const type = match?.[1]?.toLowerCase() || "application/pdf";
	const data = file_data.slice(match?.[0].length ?? 0);
	const source = type.startsWith("text/")
		? { type: "text", media_type: "text/plain", data: textOfBase64(data) }
		: { type: "base64", media_type: type, data };
	return { type: "document", source, ...(filename && { title: filename }) };
}

function textOfBase64(data: string): string {
	try {
		return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
	} catch {
		throw new AiError("invalidData");
	}
}
