/**
 * A conversation as Gemini has it: turns of `user` and `model`, the instructions apart.
 *
 * Known differences: instructions amid a conversation move to its beginning, where Gemini has its only place for them,
 * and the thinking of earlier turns is not given back, which Gemini does by signatures instead. A signature comes with a call in
 * `extra_content.google.thought_signature`, as on Google's own OpenAI route; a call that returns without one has the
 * value that Google documents for calls which it did not make.
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { splitDataUrl } from "../../media/base64.ts";
import { AUDIO_TYPES, type Part } from "../../models/gemini-wire.ts";
import type { ChatMessage, ContentPart, ToolCall } from "../../tasks/text-generation/types.ts";
import { textOf } from "../../tasks/text-generation/types.ts";
import { signsCalls } from "./generation.ts";

export interface Content {
	role: "user" | "model";
	parts: Part[];
}

export interface Conversation {
	contents: Content[];
	systemInstruction?: { parts: Part[] };
}

/** Of a call that Gemini did not make, or whose signature was lost on the way. */
const NO_SIGNATURE = "skip_thought_signature_validator";

export interface Reading {
	/** The model that is asked. */
	model: string;
	/** Says no to what Gemini has no place for. */
	refuse(what: string): AiError;
}

export function conversationOf(messages: readonly ChatMessage[], reading: Reading): Conversation {
	const instructions: Part[] = [];
	const contents: Content[] = [];
	const names = new Map<string, string>();
	/** The turn that takes further results: Gemini wants all results of one turn together. */
	let results: Content | undefined;
	for (const [place, message] of messages.entries()) {
		if (message.role === "system" || message.role === "developer") {
			const text = textOf(message.content);
			if (text) instructions.push({ text });
			continue;
		}
		if (message.role === "tool") {
			const parts = resultParts(message, `messages[${place}]`, names, reading);
			if (results) results.parts.push(...parts);
			else {
				results = { role: "user", parts };
				contents.push(results);
			}
			continue;
		}
		results = undefined;
		for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name);
		const parts = [
			...contentParts(message.content, reading),
			...(message.tool_calls ?? []).map((call, at) => callPart(call, at, reading)),
		];
		if (parts.length > 0) contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
	}
	// Instructions alone are no conversation.
	if (contents.length === 0) return { contents: [{ role: "user", parts: instructions }] };
	return { contents, ...(instructions.length > 0 && { systemInstruction: { parts: instructions } }) };
}

function contentParts(content: ChatMessage["content"], reading: Reading): Part[] {
	if (content === null || content === "") return [];
	if (typeof content === "string") return [{ text: content }];
	return content.flatMap((part) => contentPart(part, reading) ?? []);
}

function contentPart(part: ContentPart, reading: Reading): Part | undefined {
	switch (part.type) {
		case "text":
			return part.text ? { text: part.text } : undefined;
		case "refusal":
			return part.refusal ? { text: part.refusal } : undefined;
		case "image_url":
			return filePart(part.image_url?.url ?? "", undefined, reading);
		case "input_audio": {
			const { data = "", format = "wav" } = part.input_audio ?? {};
			return { inlineData: { mimeType: AUDIO_TYPES[format] ?? `audio/${format}`, data } };
		}
		case "file":
			if (part.file?.file_data === undefined) throw reading.refuse("a file by its id");
			return filePart(part.file.file_data, "application/pdf", reading);
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

/** A `data:` URL inline, another by reference, which Gemini fetches. `bare`: the type of base64 without a URL. */
function filePart(file: string, bare: string | undefined, reading: Reading): Part {
	const inline = splitDataUrl(file);
	if (inline) return { inlineData: { mimeType: inline.contentType, data: inline.base64 } };
	if (/^https?:/i.test(file)) {
		const extension = /\.(\w+)$/.exec(URL.parse(file)?.pathname ?? "")?.[1]?.toLowerCase() ?? "";
		const mimeType = TYPES_OF_EXTENSIONS[extension];
		return { fileData: { fileUri: file, ...(mimeType && { mimeType }) } };
	}
	if (bare !== undefined && /^[\w+/=\s-]+$/.test(file)) return { inlineData: { mimeType: bare, data: file } };
	throw reading.refuse("a file that is neither a data: nor an http(s): URL");
}

/** Of calls that were made together, the first is signed for all. */
function callPart(call: ToolCall, at: number, { model }: Reading): Part {
	const signature =
		call.extra_content?.google.thought_signature ??
		(at === 0 && signsCalls(model) ? NO_SIGNATURE : undefined);
	const { name, arguments: text } = call.function;
	return {
		functionCall: { id: call.id, name, args: objectIn(text) ?? { arguments: text } },
		...(signature !== undefined && { thoughtSignature: signature }),
	};
}

/** Gemini wants an object: one in the text, or the text under the name that it has for a result. */
function resultParts(
	{ tool_call_id: id = "", content, name: said }: ChatMessage,
	at: string,
	names: ReadonlyMap<string, string>,
	reading: Reading,
): Part[] {
	const name = names.get(id) ?? said;
	if (!name) throw new AiError("badInput", `Error: ${at}.tool_call_id names no call before it`);
	const text = textOf(content);
	const files = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
	return [
		{ functionResponse: { id, name, response: objectIn(text) ?? { output: text } } },
		...contentParts(files, reading),
	];
}

const JsonObject = z.record(z.string(), z.unknown());

function objectIn(text: string): Record<string, unknown> | undefined {
	try {
		return JsonObject.safeParse(JSON.parse(text)).data;
	} catch {
		return undefined;
	}
}
