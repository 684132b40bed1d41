/**
 * Turns of a Gemini request to chat messages. A call or a result without an id is paired by its name, in order, because
 * ids are optional in this API.
 */
import * as z from "zod";
import type { ChatMessage, ContentPart, ToolCall } from "../../tasks/text-generation/types.ts";
import type { ContentRules } from "../chat/content-rules.ts";
import { invalidInput } from "../chat/errors.ts";
import { checkImageUrl } from "../media/image-url.ts";
import { pointerTo } from "../responses/parse.ts";

const text = z.string().nullish();
const fields = z.record(z.string(), z.unknown());

const SentPart = z.looseObject({
	text,
	thought: z.boolean().nullish(),
	thoughtSignature: text,
	inlineData: z.looseObject({ mimeType: z.string().min(1), data: z.string() }).nullish(),
	fileData: z.looseObject({ fileUri: z.string().min(1), mimeType: text }).nullish(),
	functionCall: z.looseObject({ id: text, name: z.string().min(1), args: fields.nullish() }).nullish(),
	functionResponse: z
		.looseObject({ id: text, name: z.string().min(1), response: fields.nullish() })
		.nullish(),
});
type SentPart = z.output<typeof SentPart>;

export const SentContent = z.looseObject({
	role: z.enum(["user", "model", "function", "system"]).nullish(),
	parts: z.array(SentPart).nullish(),
});
type SentContent = z.output<typeof SentContent>;

/** Throws 5006 for content that the model does not take, 8001 for what is not read here. */
export function readContents(
	contents: readonly SentContent[],
	system: SentContent | null | undefined,
	rules: ContentRules,
): ChatMessage[] {
	const instructions = (system?.parts ?? []).map((part) => part.text ?? "").join("\n");
	const messages: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
	const calls = new Calls();
	for (const [index, { role, parts }] of contents.entries()) {
		const placed = (parts ?? []).map((part, i) => ({ part, at: `contents[${index}].parts[${i}]` }));
		if (role === "model") messages.push(...modelTurn(placed, calls));
		else messages.push(...userTurn(placed, calls, rules));
	}
	return messages;
}

/** The calls so far that have no result yet. */
class Calls {
	#count = 0;
	readonly #open: { id: string; name: string }[] = [];

	begin(sent: { id?: string | null | undefined; name: string }): string {
		const call = { id: sent.id || `call_${++this.#count}`, name: sent.name };
		this.#open.push(call);
		return call.id;
	}

	/** The id of the call that a result is for. */
	end(sent: { id?: string | null | undefined; name: string }, at: string): string {
		const place = this.#open.findIndex(({ id, name }) => (sent.id ? id === sent.id : name === sent.name));
		const [call] = place < 0 ? [] : this.#open.splice(place, 1);
		if (!call) throw invalidInput(`${at}.functionResponse: there is no such call before it`);
		return call.id;
	}
}

interface Placed {
	part: SentPart;
	/** `contents[1].parts[0]` */
	at: string;
}

function modelTurn(parts: readonly Placed[], calls: Calls): ChatMessage[] {
	let content = "";
	let thoughts = "";
	const tool_calls: ToolCall[] = [];
	for (const { part, at } of parts) {
		const { functionCall: called, thoughtSignature: signature } = part;
		if (called)
			tool_calls.push({
				id: calls.begin(called),
				type: "function",
				function: { name: called.name, arguments: JSON.stringify(called.args ?? {}) },
				...(signature && { extra_content: { google: { thought_signature: signature } } }),
			});
		else if (part.inlineData || part.fileData)
			throw invalidInput(`${at}: a model's turn has text and calls only`);
		else if (part.thought) thoughts += part.text ?? "";
		else content += textOf(part, at);
	}
	if (!content && tool_calls.length === 0) return [];
	return [
		{
			role: "assistant",
			content: content || null,
			...(thoughts && { reasoning_content: thoughts }),
			...(tool_calls.length > 0 && { tool_calls }),
		},
	];
}

function userTurn(parts: readonly Placed[], calls: Calls, rules: ContentRules): ChatMessage[] {
	const results: ChatMessage[] = [];
	const content: ContentPart[] = [];
	for (const { part, at } of parts) {
		const { functionResponse: result } = part;
		if (result)
			results.push({
				role: "tool",
				tool_call_id: calls.end(result, at),
				content: resultText(result.response),
			});
		else content.push(...contentParts(part, at, rules));
	}
	if (content.length === 0) return results;
	const onlyText = content.every(({ type }) => type === "text");
	return [
		...results,
		{ role: "user", content: onlyText ? content.map((part) => part.text).join("\n") : content },
	];
}

/** Clients put a plain result under `output` or `result`. */
function resultText(response: Record<string, unknown> | null | undefined): string {
	const { output, result, ...others } = response ?? {};
	const [plain] = [output, result].filter((value) => typeof value === "string");
	const alone = Object.keys(others).length === 0 && (output === undefined) !== (result === undefined);
	return alone && typeof plain === "string" ? plain : JSON.stringify(response ?? {});
}

const KNOWN = new Set(["thought", "thoughtSignature", "partMetadata"]);

/** The text of a part that has no other content. */
function textOf(part: SentPart, at: string): string {
	const { text: said, ...others } = part;
	const [unknown] = Object.keys(others).filter((key) => !KNOWN.has(key) && others[key] != null);
	if (unknown !== undefined)
		throw invalidInput(`${at}: ${JSON.stringify(unknown.slice(0, 64))} is not supported`);
	return said ?? "";
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
	const said = textOf(part, at);
	return said === "" ? [] : [{ type: "text", text: said }];
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
		return [{ type: "input_audio", input_audio: { data, format: AUDIO_FORMATS[subtype] ?? subtype } }];
	return [{ type: "file", file: { file_data: `data:${mimeType};base64,${data}` } }];
}

const AUDIO_FORMATS: Record<string, string> = { mpeg: "mp3", pcm: "pcm16", "x-wav": "wav", wave: "wav" };

function checkMedia(at: string, rules: ContentRules): void {
	if (rules.textOnly) throw invalidInput(`${at}: the model takes text only`);
}
