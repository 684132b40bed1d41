/**
 * Converts the contents of a Gemini request to chat messages. Calls and results without ids are matched by name, in order,
 * because ids are optional in this API.
 */
import * as z from "zod";
import { own } from "../../core/own.ts";
import type { ChatMessage, ContentPart, ToolCall } from "../../tasks/text-generation/types.ts";
import type { ContentRules } from "../chat/messages.ts";
import { invalidInput, pointerTo } from "../invalid-input.ts";
import { checkImageUrl } from "../media/image-url.ts";

const text = z.string().nullish();
const fields = z.record(z.string(), z.unknown());

const InlineData = z.looseObject({ mimeType: z.string().min(1), data: z.string() });

const SentPart = z.looseObject({
	text,
	thought: z.boolean().nullish(),
	thoughtSignature: text,
	inlineData: InlineData.nullish(),
	fileData: z.looseObject({ fileUri: z.string().min(1), mimeType: text }).nullish(),
	functionCall: z.looseObject({ id: text, name: z.string().min(1), args: fields.nullish() }).nullish(),
	functionResponse: z
		.looseObject({
			id: text,
			name: z.string().min(1),
			response: fields.nullish(),
			parts: z.array(z.looseObject({ inlineData: InlineData.nullish() })).nullish(),
		})
		.nullish(),
});
type SentPart = z.output<typeof SentPart>;

export const SentContent = z.looseObject({
	role: z.enum(["user", "model", "function", "system"]).nullish(),
	parts: z.array(SentPart).nullish(),
});
type SentContent = z.output<typeof SentContent>;

/**
 * `isPart`: the contents are a part of a conversation, whose results may belong to earlier calls. Throws 5006 for content that the model
 * does not accept, 8001 for unsupported content.
 */
export function readContents(
	contents: readonly SentContent[],
	system: SentContent | null | undefined,
	{ isPart, rules }: { isPart: boolean; rules: ContentRules },
): ChatMessage[] {
	const instructions = (system?.parts ?? []).map((part) => part.text ?? "").join("\n");
	const messages: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
	const calls = new PendingCalls(isPart);
	for (const [index, { role, parts }] of contents.entries()) {
		const placed = (parts ?? []).map((part, i) => ({ part, at: `contents[${index}].parts[${i}]` }));
		if (role === "model") messages.push(...modelMessage(placed, calls));
		else messages.push(...userMessages(placed, calls, rules));
	}
	return messages;
}

/** The calls that have no result yet. */
class PendingCalls {
	#count = 0;
	readonly #pending: { id: string; name: string }[] = [];
	readonly #answered = new Set<string>();
	readonly #isPart: boolean;

	constructor(isPart: boolean) {
		this.#isPart = isPart;
	}

	add(sent: { id?: string | null | undefined; name: string }): string {
		const call = { id: sent.id || `call_${++this.#count}`, name: sent.name };
		this.#pending.push(call);
		return call.id;
	}

	/** Removes the call that a result belongs to. Returns its id. `undefined`: the result is repeated, as Gemini CLI does when it resumes. */
	take(sent: { id?: string | null | undefined; name: string }, at: string): string | undefined {
		const index = this.#pending.findIndex(({ id, name }) => (sent.id ? id === sent.id : name === sent.name));
		const [call] = index < 0 ? [] : this.#pending.splice(index, 1);
		if (call) {
			this.#answered.add(call.id);
			return call.id;
		}
		if (sent.id && this.#answered.has(sent.id)) return undefined;
		if (this.#isPart) return sent.id || `call_${++this.#count}`;
		throw invalidInput(`${at}.functionResponse: there is no such call before it`);
	}
}

interface PlacedPart {
	part: SentPart;
	/** `contents[1].parts[0]` */
	at: string;
}

function modelMessage(parts: readonly PlacedPart[], calls: PendingCalls): ChatMessage[] {
	let content = "";
	let thoughts = "";
	let signatures = "";
	const tool_calls: ToolCall[] = [];
	for (const { part, at } of parts) {
		const { functionCall: called, thoughtSignature: signature } = part;
		if (called)
			tool_calls.push({
				id: calls.add(called),
				type: "function",
				function: { name: called.name, arguments: JSON.stringify(called.args ?? {}) },
				...signatureField(signature),
			});
		else if (part.inlineData || part.fileData)
			throw invalidInput(`${at}: a model's turn has text and calls only`);
		if (!called) signatures += signature ?? "";
		if (called) continue;
		if (part.thought) thoughts += part.text ?? "";
		else content += textOf(part, at);
	}
	if (!content && tool_calls.length === 0) return [];
	return [
		{
			role: "assistant",
			content: content || null,
			...(thoughts && { reasoning_content: thoughts }),
			...signatureField(signatures),
			...(tool_calls.length > 0 && { tool_calls }),
		},
	];
}

const signatureField = (signature: string | null | undefined): Pick<ToolCall, "extra_content"> =>
	signature ? { extra_content: { google: { thought_signature: signature } } } : {};

/** The tool results, then the content as one user message. */
function userMessages(parts: readonly PlacedPart[], calls: PendingCalls, rules: ContentRules): ChatMessage[] {
	const results: ChatMessage[] = [];
	const content: ContentPart[] = [];
	for (const { part, at } of parts) {
		const { functionResponse: result } = part;
		if (result) {
			const id = calls.take(result, at);
			if (id !== undefined)
				results.push({ role: "tool", tool_call_id: id, content: resultContent(result, at, rules) });
		} else content.push(...contentParts(part, at, rules));
	}
	if (content.length === 0) return results;
	const isText = content.every(({ type }) => type === "text");
	return [
		...results,
		{ role: "user", content: isText ? content.map((part) => part.text).join("\n") : content },
	];
}

/** The text, and the images and files that belong to it. */
function resultContent(
	{ parts, response }: NonNullable<SentPart["functionResponse"]>,
	at: string,
	rules: ContentRules,
): string | ContentPart[] {
	const text = resultText(response);
	const files = (parts ?? []).flatMap(({ inlineData }, index) =>
		inlineData ? dataParts(inlineData, `${at}.functionResponse.parts[${index}].inlineData`, rules) : [],
	);
	return files.length === 0 ? text : [{ type: "text", text }, ...files];
}

/** Clients send a text result in `output` or `result`. */
function resultText(response: Record<string, unknown> | null | undefined): string {
	const { output, result, ...others } = response ?? {};
	const [text] = [output, result].filter((value) => typeof value === "string");
	const isOnlyField = Object.keys(others).length === 0 && (output === undefined) !== (result === undefined);
	return isOnlyField && typeof text === "string" ? text : JSON.stringify(response ?? {});
}

const IGNORED_FIELDS = new Set(["thought", "thoughtSignature", "partMetadata"]);

/** The text of a part that has no other content. */
function textOf(part: SentPart, at: string): string {
	const { text, ...others } = part;
	const [unknown] = Object.keys(others).filter((key) => !IGNORED_FIELDS.has(key) && others[key] != null);
	if (unknown !== undefined)
		throw invalidInput(`${at}: ${JSON.stringify(unknown.slice(0, 64))} is not supported`);
	return text ?? "";
}

function contentParts(part: SentPart, at: string, rules: ContentRules): ContentPart[] {
	const { inlineData, fileData } = part;
	if (inlineData) return dataParts(inlineData, `${at}.inlineData`, rules);
	if (fileData) {
		const isImage = !fileData.mimeType || fileData.mimeType.startsWith("image/");
		if (!isImage) throw invalidInput(`${at}.fileData: only images are taken by their address`);
		checkMedia(`${at}.fileData`, rules);
		checkImageUrl(fileData.fileUri, pointerTo(`${at}.fileData.fileUri`), rules);
		return [{ type: "image_url", image_url: { url: fileData.fileUri } }];
	}
	const text = textOf(part, at);
	return text === "" ? [] : [{ type: "text", text }];
}

function dataParts(
	{ mimeType, data }: { mimeType: string; data: string },
	at: string,
	rules: ContentRules,
): ContentPart[] {
	const [type = "", subtype = ""] = mimeType.toLowerCase().split(";")[0]?.split("/") ?? [];
	checkMedia(at, rules);
	if (type === "image") return [{ type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } }];
	if (type === "audio")
		return [{ type: "input_audio", input_audio: { data, format: own(AUDIO_FORMATS, subtype) ?? subtype } }];
	return [{ type: "file", file: { file_data: `data:${mimeType};base64,${data}` } }];
}

const AUDIO_FORMATS: Record<string, string> = { mpeg: "mp3", pcm: "pcm16", "x-wav": "wav", wave: "wav" };

function checkMedia(at: string, rules: ContentRules): void {
	if (rules.textOnly) throw invalidInput(`${at}: the model takes text only`);
}
