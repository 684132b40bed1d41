/** Converts callers' messages to those of the task's input. */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ChatMessage, ContentPart, ThinkingBlock } from "../../tasks/text-generation/types.ts";
import { badInput, invalidInput } from "../invalid-input.ts";
import { checkImageUrl, type ImageRules } from "../media/image-url.ts";
import { breakpointOf } from "./cache-control.ts";
import { type ToolCallReader, toolCallReader } from "./tool-call-reader.ts";
import { SentToolCall } from "./tool-schemas.ts";

/** The message content that a model's own schema allows. It applies on every route (observed on the chat route). */
export interface ContentRules extends ImageRules {
	/** Whether content must be a string. */
	textOnly: boolean;
}

export function contentRules(model: Pick<Model, "input">): ContentRules {
	const content = inputFamily(model).native?.content;
	return { textOnly: content === "text", embeddedImages: content === "media" };
}

/** A content part of any type. The type determines the required fields. */
export const AnyPart = z.object({
	type: z.string(),
	text: z.string().nullish(),
	image_url: z.union([z.string(), z.object({ url: z.string(), detail: z.string().nullish() })]).nullish(),
	input_audio: z.object({ data: z.string(), format: z.string() }).nullish(),
	file: z
		.object({
			file_data: z.string().nullish(),
			file_id: z.string().nullish(),
			filename: z.string().nullish(),
		})
		.nullish(),
	refusal: z.string().nullish(),
	cache_control: z.unknown().optional(),
});
export type AnyPart = z.output<typeof AnyPart>;

/** Signed reasoning, unchanged from the model's answer. */
const ThinkingBlocks = z.array(
	z.object({
		type: z.enum(["thinking", "redacted_thinking"]),
		thinking: z.string().nullish(),
		signature: z.string().nullish(),
		data: z.string().nullish(),
	}),
);

/** A field of Google's OpenAI route. */
const Signature = z.object({ google: z.object({ thought_signature: z.string() }) });
/** A field of OpenRouter, which receives it back. Others receive the seals in it: the texts are those of `reasoning`. */
const ReasoningDetails = z.array(
	z.looseObject({ type: z.string(), signature: z.string().nullish(), data: z.string().nullish() }),
);

/** Fields of a message that hold sealed reasoning. */
export const sealFields = {
	thinking_blocks: ThinkingBlocks.nullish(),
	extra_content: Signature.nullish().catch(undefined),
	reasoning_details: ReasoningDetails.nullish().catch(undefined),
};

/** Fields of a message for tools. The native schemas do not list them and allow further fields. */
export const toolFields = {
	name: z.string().nullish(),
	tool_calls: z.array(SentToolCall).nullish(),
	tool_call_id: z.string().nullish(),
};

/** Fields of a message on OpenAI's routes, besides `role` and `content`. */
export const messageFields = {
	...toolFields,
	/** The legacy form of one tool call. */
	function_call: z.unknown().optional(),
	refusal: z.string().nullish(),
	reasoning: z.string().nullish(),
	reasoning_content: z.string().nullish(),
	/** OpenAI's kind of the text. */
	phase: z.string().nullish(),
	...sealFields,
};

export interface SentMessage extends z.output<z.ZodObject<typeof messageFields>> {
	role?: string | undefined;
	content?: string | AnyPart | AnyPart[] | null | undefined;
}

export interface MessageRules extends ImageRules {
	/** Whether every message may omit its content. Otherwise only an assistant's message may. */
	contentOptional: boolean;
}

/** Throws 5006 for missing content and disallowed image URLs, 8001 for roles and parts that no engine supports. */
export function readMessages(sent: readonly SentMessage[], rules: MessageRules): ChatMessage[] {
	let reader: ToolCallReader | undefined;
	const toolCalls = (): ToolCallReader => {
		reader ??= toolCallReader();
		return reader;
	};
	return sent.map((message, index) => {
		const at = `messages[${index}]`;
		const role = message.role ?? "user";
		const content = readContent(message.content, `/messages/${index}/content`, rules);
		switch (role) {
			case "assistant":
				return readAssistant(message, content, { toolCalls, beforeResult: isResult(sent[index + 1]), at });
			case "tool":
			case "function":
				return {
					role: "tool",
					content: content ?? "",
					tool_call_id: toolCalls().idOfResult({ id: message.tool_call_id, name: message.name }),
				};
			case "system":
			case "developer":
			case "user":
				if (content === null && !rules.contentOptional)
					throw badInput(`required properties at '/messages/${index}' are 'content'`);
				return { role, content: content ?? "", ...(message.name && { name: message.name }) };
			default:
				throw invalidInput(`${at}.role must be system, developer, user, assistant or tool`);
		}
	});
}

const isResult = (message: SentMessage | undefined): boolean =>
	message?.role === "tool" || message?.role === "function";

function readAssistant(
	message: SentMessage,
	content: ChatMessage["content"],
	{ toolCalls, beforeResult, at }: { toolCalls: () => ToolCallReader; beforeResult: boolean; at: string },
): ChatMessage {
	const { tool_calls, function_call, name, refusal, extra_content, phase, reasoning_details } = message;
	const thinking_blocks = thinkingBlocks(message);
	const thinking = thinking_blocks.map((block) => block.thinking ?? "").join("");
	const reasoning_content = message.reasoning_content || message.reasoning || thinking;
	const common = {
		...(name && { name }),
		...(reasoning_content && { reasoning_content }),
		...(thinking_blocks.length > 0 && { thinking_blocks }),
		...(reasoning_details?.length && { reasoning_details }),
		...(extra_content && { extra_content }),
		...(phase && { phase }),
	};
	const calls = tool_calls?.length ? tool_calls : function_call ? [function_call] : undefined;
	if (calls)
		return {
			role: "assistant",
			content: content || null,
			tool_calls: toolCalls().read(calls, `${at}.tool_calls`),
			...common,
		};
	// Only directly before a result. Elsewhere, JSON that looks like a call is an answer.
	const callsInText = beforeResult && typeof content === "string" ? toolCalls().readText(content) : undefined;
	if (callsInText) return { role: "assistant", content: null, tool_calls: callsInText, ...common };
	return { role: "assistant", content: content ?? refusal ?? "", ...common };
}

function thinkingBlocks({ thinking_blocks, reasoning_details }: SentMessage): ThinkingBlock[] {
	const blocks = (thinking_blocks ?? []).map((block): ThinkingBlock => {
		const { type } = block;
		return { type, ...present(block) };
	});
	const seals = (reasoning_details ?? []).flatMap(({ signature, data }) => signature || data || []);
	return [...blocks, ...seals.map((data): ThinkingBlock => ({ type: "redacted_thinking", data }))];
}

function readContent(
	content: SentMessage["content"],
	pointer: string,
	rules: MessageRules,
): ChatMessage["content"] {
	if (content === undefined || content === null) return null;
	if (typeof content === "string") return content;
	// OpenAI refuses a list without parts.
	if (Array.isArray(content) && content.length === 0) return null;
	if (Array.isArray(content))
		return content.map((part, index) => ({
			...readPart(part, `${pointer}/${index}`, rules),
			...breakpointOf(part),
		}));
	return [{ ...readPart(content, pointer, rules), ...breakpointOf(content) }];
}

/** `pointer` names the part in the error message. */
function readPart(part: AnyPart, pointer: string, rules: ImageRules): ContentPart {
	switch (part.type) {
		case "text":
			return { type: "text", text: required(part.text, "text", pointer) };
		case "refusal":
			return { type: "refusal", refusal: required(part.refusal, "refusal", pointer) };
		case "image_url": {
			const sent = required(part.image_url, "image_url", pointer);
			const { url, detail } = typeof sent === "string" ? { url: sent } : sent;
			checkImageUrl(url, `${pointer}/image_url${typeof sent === "string" ? "" : "/url"}`, rules);
			return { type: "image_url", image_url: { url, ...present({ detail }) } };
		}
		case "input_audio":
			return {
				type: "input_audio",
				input_audio: plainAudio(required(part.input_audio, "input_audio", pointer)),
			};
		case "file": {
			return { type: "file", file: present(required(part.file, "file", pointer)) };
		}
		default:
			throw invalidInput(`${pointer}/type is not a kind of content that engines know`);
	}
}

const BASE64_URL = /^data:[^,]{0,100};base64,/;

/** Clients send a data URL in the place of base64, which hosts refuse. */
export const plainAudio = (audio: { data: string; format: string }): { data: string; format: string } => ({
	...audio,
	data: audio.data.replace(BASE64_URL, ""),
});

function required<Value>(value: Value | null | undefined, field: string, pointer: string): Value {
	if (value === undefined || value === null)
		throw badInput(`required properties at '${pointer}' are '${field}'`);
	return value;
}
