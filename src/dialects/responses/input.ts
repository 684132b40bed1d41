/**
 * Items of a Responses request to chat messages.
 *
 * Items are finer than messages: the thoughts, the text and the calls of one assistant turn are an item each, and chat
 * engines insist that the answers to calls follow the message that made them. So consecutive items of the assistant
 * are gathered into one message.
 */
import * as z from "zod";
import { AiError } from "../../errors.ts";
import type { ChatMessage, ContentPart } from "../../tasks/text-generation.ts";
import type { ContentRules } from "../chat/content-rules.ts";
import { invalidInput } from "../chat/errors.ts";
import { present } from "../fields.ts";
import { checkImageUrl } from "../media/image-url.ts";
import { parseAt, pointerTo } from "./parse.ts";

const Loose = z.looseObject({ type: z.string().optional() });
const Content = z.union([z.string(), z.array(Loose)]);

/** As the body's schema leaves it; each item is parsed by {@link readInput}. */
export const Input = z.union([z.string(), z.array(Loose)]);

const Part = z.discriminatedUnion("type", [
	z.object({ type: z.literal("input_text"), text: z.string() }),
	z.object({ type: z.literal("output_text"), text: z.string() }),
	z.object({ type: z.literal("refusal"), refusal: z.string() }),
	z.object({
		type: z.literal("input_image"),
		image_url: z.string().nullish(),
		detail: z.enum(["auto", "low", "high", "original"]).nullish(),
	}),
	z.object({
		type: z.literal("input_audio"),
		input_audio: z.object({ data: z.string(), format: z.string() }),
	}),
	z.object({
		type: z.literal("input_file"),
		file_data: z.string().nullish(),
		filename: z.string().nullish(),
	}),
]);

const Item = z.discriminatedUnion("type", [
	z.object({
		// `{role, content}` alone is a message.
		type: z.literal("message").default("message"),
		role: z.enum(["user", "assistant", "system", "developer"]),
		content: Content,
	}),
	z.object({
		type: z.literal("function_call"),
		call_id: z.string().min(1),
		name: z.string().min(1),
		arguments: z.string(),
	}),
	z.object({ type: z.literal("function_call_output"), call_id: z.string().min(1), output: Content }),
	z.object({
		type: z.literal("reasoning"),
		content: z.array(z.object({ text: z.string() })).nullish(),
		summary: z.array(z.object({ text: z.string() })).nullish(),
	}),
]);
type Item = z.output<typeof Item>;

/** Never empty. Throws 5006 for what the model's content cannot hold, 8001 for what is not read here. */
export function readInput(
	input: z.output<typeof Input>,
	instructions: string | null | undefined,
	rules: ContentRules,
): ChatMessage[] {
	const messages: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
	if (typeof input === "string") return [...messages, { role: "user", content: input }];
	let turn: ChatMessage | undefined;
	for (const [index, raw] of input.entries()) {
		const at = `input[${index}]`;
		const item = parseAt(Item, raw, at);
		if (item.type === "function_call_output" || (item.type === "message" && item.role !== "assistant")) {
			turn = undefined;
			messages.push(readOther(item, at, rules));
			continue;
		}
		// After its text a turn can still make calls; more text, or new thoughts, are another turn.
		if (!turn || (turn.content !== null && item.type !== "function_call")) {
			turn = { role: "assistant", content: null };
			messages.push(turn);
		}
		addToTurn(turn, item, at, rules);
	}
	// Thoughts that led to nothing have no place in a chat.
	const said = messages.filter(({ content, tool_calls }) => content !== null || tool_calls);
	if (said.length === 0) throw invalidInput("input: there is no message in it");
	return said;
}

type Other = Extract<Item, { type: "message" | "function_call_output" }>;

const readOther = (item: Other, at: string, rules: ContentRules): ChatMessage =>
	item.type === "message"
		? { role: item.role, content: readContent(item.content, `${at}.content`, rules) }
		: { role: "tool", tool_call_id: item.call_id, content: readContent(item.output, `${at}.output`, rules) };

function addToTurn(turn: ChatMessage, item: Item, at: string, rules: ContentRules): void {
	if (item.type === "message") turn.content = readContent(item.content, `${at}.content`, rules);
	if (item.type === "function_call") {
		turn.tool_calls ??= [];
		const { name, arguments: text } = item;
		turn.tool_calls.push({ id: item.call_id, type: "function", function: { name, arguments: text } });
	}
	if (item.type === "reasoning") {
		// A summary stands in for thoughts that were not disclosed; the encrypted ones are OpenAI's alone to read.
		const thoughts = item.content?.length ? item.content : (item.summary ?? []);
		const text = thoughts.map((thought) => thought.text).join("\n");
		if (text) turn.reasoning_content = [turn.reasoning_content, text].filter(Boolean).join("\n");
	}
}

function readContent(
	content: z.output<typeof Content>,
	at: string,
	rules: ContentRules,
): string | ContentPart[] {
	if (typeof content === "string") return content;
	const parts = content.map((part, index) => readPart(part, `${at}[${index}]`, rules));
	if (rules.textOnly) return textOf(parts, at);
	const [only] = parts;
	// Some chat templates take nothing but a string.
	if (parts.length === 1 && only?.type === "text") return only.text ?? "";
	return parts;
}

/** The parts as one text: here callers write parts where in a chat they would write a string. */
function textOf(parts: ContentPart[], at: string): string {
	const texts = parts.map(({ text, refusal }, index) => {
		const said = text ?? refusal;
		if (said !== undefined) return said;
		throw new AiError(
			"badInput",
			`Error: '${pointerTo(at)}/${index}' must be text: the model takes no other`,
		);
	});
	return texts.join("\n");
}

function readPart(raw: z.output<typeof Loose>, at: string, rules: ContentRules): ContentPart {
	const part = parseAt(Part, raw, at);
	switch (part.type) {
		case "input_text":
		case "output_text":
			return { type: "text", text: part.text };
		case "refusal":
			return { type: "refusal", refusal: part.refusal };
		case "input_audio":
			return { type: "input_audio", input_audio: part.input_audio };
		case "input_image": {
			if (!part.image_url) throw invalidInput(`${at}.image_url: expected a URL; no file can be stored here`);
			checkImageUrl(part.image_url, pointerTo(`${at}.image_url`), rules);
			// Chat has no name for the full size.
			const detail = part.detail === "original" ? "high" : part.detail;
			return { type: "image_url", image_url: { url: part.image_url, ...present({ detail }) } };
		}
		case "input_file": {
			if (!part.file_data)
				throw invalidInput(`${at}.file_data: expected the file; none can be fetched or stored here`);
			const { file_data, filename } = part;
			return { type: "file", file: { file_data, ...present({ filename }) } };
		}
		default:
			return part satisfies never;
	}
}
