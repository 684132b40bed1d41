/**
 * Converts a conversation to Gemini's format: messages of `user` and `model`, with separate instructions.
 *
 * Known differences: instructions in the middle of a conversation move to its beginning, because Gemini has one field for
 * all. The reasoning of earlier messages is not sent back; Gemini uses signatures instead, which callers carry in
 * seals. A call without one gets the value that Google documents for calls that it did not make.
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import { parseRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { splitDataUrl } from "../../media/base64.ts";
import { AUDIO_TYPES, type Part } from "../../models/gemini-wire.ts";
import {
	type ChatMessage,
	type ContentPart,
	type ToolCall,
	textOf,
} from "../../tasks/text-generation/types.ts";
import { openSignatures, unsignedCall } from "../gemini-signatures.ts";
import type { Seals } from "../seals.ts";
import { pairResults } from "../tool-results.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";

interface Content {
	role: "user" | "model";
	parts: Part[];
}

interface GeminiConversation {
	contents: Content[];
	systemInstruction?: { parts: Part[] };
}

export function conversationOf(
	messages: readonly ChatMessage[],
	call: Call,
	seals: Seals | undefined,
): GeminiConversation {
	const instructions: Part[] = [];
	const contents: Content[] = [];
	const names = new Map<string, string>();
	/** The open message of tool results: Gemini requires consecutive results in one message. */
	let results: Content | undefined;
	for (const message of pairResults(messages, "text")) {
		if (message.role === "system" || message.role === "developer") {
			const text = textOf(message.content);
			if (text) instructions.push({ text });
			continue;
		}
		if (message.role === "tool") {
			const parts = resultParts(message, names, call);
			if (results) results.parts.push(...parts);
			else {
				results = { role: "user", parts };
				contents.push(results);
			}
			continue;
		}
		results = undefined;
		for (const toolCall of message.tool_calls ?? []) names.set(toolCall.id, toolCall.function.name);
		const signatures = message.role === "assistant" ? openSignatures(message, seals, call) : undefined;
		const parts = [
			...withSignature(contentParts(message.content, call), signatures?.get("text")),
			...(message.tool_calls ?? []).map((toolCall, at) =>
				callPart(toolCall, signatures?.get(at) ?? unsignedCall(at, call.target)),
			),
		];
		if (parts.length > 0) contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
	}
	// Gemini refuses a request with only instructions.
	if (contents.length === 0) return { contents: [{ role: "user", parts: instructions }] };
	return { contents, ...(instructions.length > 0 && { systemInstruction: { parts: instructions } }) };
}

function contentParts(content: ChatMessage["content"], call: Call): Part[] {
	if (content === null || content === "") return [];
	if (typeof content === "string") return [{ text: content }];
	return content.flatMap((part) => contentPart(part, call) ?? []);
}

function contentPart(part: ContentPart, call: Call): Part | undefined {
	switch (part.type) {
		case "text":
			return part.text ? { text: part.text } : undefined;
		case "refusal":
			return part.refusal ? { text: part.refusal } : undefined;
		case "image_url":
			return filePart(part.image_url?.url ?? "", undefined, call);
		case "input_audio": {
			const { data = "", format = "wav" } = part.input_audio ?? {};
			return { inlineData: { mimeType: own(AUDIO_TYPES, format) ?? `audio/${format}`, data } };
		}
		case "file":
			if (part.file?.file_data === undefined) throw unsupported(call, "has no input for a file by its id");
			return filePart(part.file.file_data, "application/pdf", call);
		default:
			return part.type satisfies never;
	}
}

const TYPES_OF_EXTENSIONS: Record<string, string> = {
	png: "image/png",
	jpg: "image/jpeg",
	jpeg: "image/jpeg",
	webp: "image/webp",
	heic: "image/heic",
	heif: "image/heif",
	gif: "image/gif",
	pdf: "application/pdf",
};

/** A `data:` URL is sent inline. Gemini fetches other URLs. `bareType`: the type of base64 without a URL. */
function filePart(file: string, bareType: string | undefined, call: Call): Part {
	const inline = splitDataUrl(file);
	if (inline) return { inlineData: { mimeType: inline.contentType, data: inline.base64 } };
	if (/^https?:/i.test(file)) {
		const extension = URL.parse(file)
			?.pathname.match(/\.(\w+)$/)?.[1]
			?.toLowerCase();
		const mimeType = own(TYPES_OF_EXTENSIONS, extension);
		return { fileData: { fileUri: file, ...(mimeType && { mimeType }) } };
	}
	if (bareType !== undefined && /^[\w+/=\s-]+$/.test(file))
		return { inlineData: { mimeType: bareType, data: file } };
	throw unsupported(call, "has no input for a file that is neither a data: nor an http(s): URL");
}

function callPart({ id, function: called }: ToolCall, signature: string | undefined): Part {
	const { name, arguments: text } = called;
	return {
		functionCall: { id, name, args: parseRecord(text) ?? { arguments: text } },
		...(signature !== undefined && { thoughtSignature: signature }),
	};
}

/** The signature of a text is that of its last part. */
function withSignature(parts: Part[], signature: string | undefined): Part[] {
	const last = parts.at(-1);
	if (!last || signature === undefined) return parts;
	return [...parts.slice(0, -1), { ...last, thoughtSignature: signature }];
}

/** Gemini requires an object: the JSON object in the text, or else `{output: text}`. */
function resultParts(
	{ tool_call_id: id = "", content }: ChatMessage,
	names: ReadonlyMap<string, string>,
	call: Call,
): Part[] {
	const name = names.get(id) ?? "";
	const text = textOf(content);
	const files = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
	return [
		{ functionResponse: { id, name, response: parseRecord(text) ?? { output: text } } },
		...contentParts(files, call),
	];
}
