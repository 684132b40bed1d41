/**
 * Converts the items of a Responses request to chat messages.
 *
 * The reasoning, the text and the calls of one assistant message are separate items, and chat engines require that results
 * follow the message with the calls. So consecutive items of the assistant are merged into one message.
 *
 * Calls have the engine's tool names (`tool-names.ts`). A call of a tool that runs on the caller's side and that engines do
 * not have (`local_shell_call`, `apply_patch_call`, …) is read as a call of a function with that name. Items that only add tools
 * are read in `tools.ts`.
 *
 * Dropped, and listed: a call of a tool that OpenAI hosts, because its result is in the text that follows it; summaries that
 * another provider has encrypted; items of unknown types. Clients add new ones often, and none of them is worth a refusal.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import type { ChatInput, ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";
import { argumentsOfInput } from "../chat/custom-tools.ts";
import { type ContentRules, plainAudio } from "../chat/messages.ts";
import { badInput, invalidInput, parseElement, pointerTo } from "../invalid-input.ts";
import { checkImageUrl } from "../media/image-url.ts";
import { NAMEABLE } from "../nameable.ts";
import { argumentsOfCall } from "./client-tools.ts";
import { replacedIn, requestsCompaction, SUMMARIES, SUMMARY_REQUEST, summaryIn } from "./summary.ts";
import { flatName, namesIn } from "./tool-names.ts";

const Loose = z.looseObject({ type: z.string().optional() });
const Content = z.union([z.string(), z.array(Loose)]);

/** The loose schema of the body. {@link readInput} parses each item. */
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

const Call = { call_id: z.string().min(1), name: z.string().min(1), namespace: z.string().nullish() };

const Item = z.discriminatedUnion("type", [
	z.object({
		// `{role, content}` alone is a message.
		type: z.literal("message").default("message"),
		role: z.enum(["user", "assistant", "system", "developer"]),
		content: Content,
		phase: z.string().nullish(),
	}),
	z.object({
		type: z.literal("function_call"),
		...Call,
		arguments: z.string(),
	}),
	z.object({ type: z.literal("custom_tool_call"), ...Call, input: z.string() }),
	z.object({ type: z.literal("function_call_output"), call_id: z.string().min(1), output: Content }),
	z.object({ type: z.literal("custom_tool_call_output"), call_id: z.string().min(1), output: Content }),
	z.object({
		type: z.literal("reasoning"),
		content: z.array(z.object({ text: z.string() })).nullish(),
		summary: z.array(z.object({ text: z.string() })).nullish(),
		/** A seal of the gateway. */
		encrypted_content: z.string().nullish(),
	}),
]);
type Item = z.output<typeof Item>;

/**
 * Returns at least one message, and the types of the dropped items. Throws 5006 for content that the model does not accept,
 * 8001 for unsupported content.
 */
export function readInput(
	input: z.output<typeof Input>,
	instructions: string | null | undefined,
	rules: ContentRules,
): Pick<ChatInput, "messages" | "dropped"> {
	const messages: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
	if (typeof input === "string") return { messages: [...messages, { role: "user", content: input }] };
	const dropped = new Set<string>();
	const callIds = new Set<string>();
	const isReplaced = replacedIn(input);
	let assistant: ChatMessage | undefined;
	for (const [index, raw] of input.entries()) {
		const at = `input[${index}]`;
		if (isReplaced(raw, index)) continue;
		if (raw.type === "additional_tools" || raw.type === "compaction_trigger") continue;
		const sent = asKnownItem(raw);
		if (!sent) {
			dropped.add(`input.${raw.type}`);
			continue;
		}
		const item = parseElement(Item, sent, at);
		if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
			if (!callIds.has(item.call_id)) throw invalidInput(`${at}.call_id: no call before it has this id`);
			assistant = undefined;
			const content = readContent(item.output, `${at}.output`, rules);
			messages.push({ role: "tool", tool_call_id: item.call_id, content });
			continue;
		}
		if (item.type === "message" && item.role !== "assistant") {
			assistant = undefined;
			messages.push({ role: item.role, content: readContent(item.content, `${at}.content`, rules) });
			continue;
		}
		const isCall = item.type === "function_call" || item.type === "custom_tool_call";
		if (isCall) callIds.add(item.call_id);
		// Calls may follow the text of a message, and seals the calls. Other text or reasoning starts another message.
		const follows = isCall || (item.type === "reasoning" && assistant?.tool_calls !== undefined);
		if (!assistant || (assistant.content !== null && !follows)) {
			assistant = { role: "assistant", content: null };
			messages.push(assistant);
		}
		addItem(assistant, item, at, rules);
	}
	if (requestsCompaction(input)) messages.push({ role: "user", content: SUMMARY_REQUEST });
	// A message with reasoning only is dropped.
	const kept = messages.filter(({ content, tool_calls }) => content !== null || tool_calls);
	if (kept.length === 0) throw invalidInput("input: there is no message in it");
	return { messages: kept, ...(dropped.size > 0 && { dropped: [...dropped] }) };
}

type RawItem = z.output<typeof Loose>;

/** Read as they are. References to stored items are refused, because their content would be missing. */
const KNOWN: ReadonlySet<string> = new Set([
	"message",
	"function_call",
	"custom_tool_call",
	"function_call_output",
	"custom_tool_call_output",
	"reasoning",
	"item_reference",
]);

const CALL = /^([a-z_]{1,40})_call$/;
const OUTPUT = /^[a-z_]{1,40}_call_output$/;
/** Its output is a screenshot, and engines have no such tool. */
const COMPUTER = /^computer_call/;

/** Converts items of other tools to those of functions. `undefined`: the item is dropped. */
function asKnownItem(item: RawItem): RawItem | undefined {
	const { type, call_id, id, status: _, ...fields } = item;
	if (type === undefined || KNOWN.has(type) || !NAMEABLE.test(type)) return item;
	if (SUMMARIES.has(type)) {
		const summary = summaryIn(item.encrypted_content);
		return summary === undefined ? undefined : { type: "message", role: "user", content: summary };
	}
	// The caller does not answer calls of hosted tools, so they have no `call_id`.
	if (COMPUTER.test(type) || !("call_id" in item || (OUTPUT.test(type) && id))) return undefined;
	const [, name] = CALL.exec(type) ?? [];
	if (name)
		return call_id === null
			? undefined
			: { type: "function_call", call_id, name, arguments: JSON.stringify(argumentsOfCall(name, fields)) };
	if (type === "tool_search_output")
		return call_id === null ? undefined : { type: "function_call_output", call_id, output: foundTools(item) };
	if (!OUTPUT.test(type)) return undefined;
	const { output = fields } = fields;
	return {
		type: "function_call_output",
		// A `local_shell_call_output` has the call's id in `id`.
		call_id: call_id ?? id,
		output: typeof output === "string" ? output : JSON.stringify(output),
	};
}

/** The result of a search for tools: the names by which the model can call them. */
function foundTools({ tools }: RawItem): string {
	const names = Array.isArray(tools) ? namesIn(tools).map(flatName) : [];
	return names.length > 0 ? `These tools are now available: ${names.join(", ")}` : "No tool was found.";
}

function addItem(
	message: ChatMessage,
	item: Exclude<Item, { type: "function_call_output" | "custom_tool_call_output" }>,
	at: string,
	rules: ContentRules,
): void {
	switch (item.type) {
		case "message":
			message.content = readContent(item.content, `${at}.content`, rules);
			if (item.phase) message.phase = item.phase;
			return;
		case "function_call":
		case "custom_tool_call": {
			message.tool_calls ??= [];
			const text = item.type === "function_call" ? item.arguments : argumentsOfInput(item.input);
			const called = { name: flatName(item), arguments: text };
			message.tool_calls.push({ id: item.call_id, type: "function", function: called });
			return;
		}
		case "reasoning": {
			// The summary replaces reasoning that OpenAI does not disclose.
			const parts = item.content?.length ? item.content : (item.summary ?? []);
			const text = parts.map((part) => part.text).join("\n");
			if (text) message.reasoning_content = [message.reasoning_content, text].filter(Boolean).join("\n");
			const { encrypted_content: seal } = item;
			if (!seal) return;
			message.thinking_blocks ??= [];
			message.thinking_blocks.push(
				text
					? { type: "thinking", thinking: text, signature: seal }
					: { type: "redacted_thinking", data: seal },
			);
			return;
		}
		default:
			item satisfies never;
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
	const [first] = parts;
	if (!first) return "";
	// Some chat templates accept only strings.
	if (parts.length === 1 && first.type === "text") return first.text ?? "";
	return parts;
}

/** The parts as one text: Responses callers send parts, also for models that accept only strings. */
function textOf(parts: ContentPart[], at: string): string {
	const texts = parts.map(({ text, refusal }, index) => {
		const plain = text ?? refusal;
		if (plain !== undefined) return plain;
		throw badInput(`'${pointerTo(at)}/${index}' must be text: the model takes no other`);
	});
	return texts.join("\n");
}

function readPart(raw: z.output<typeof Loose>, at: string, rules: ContentRules): ContentPart {
	const part = parseElement(Part, raw, at);
	switch (part.type) {
		case "input_text":
		case "output_text":
			return { type: "text", text: part.text };
		case "refusal":
			return { type: "refusal", refusal: part.refusal };
		case "input_audio":
			return { type: "input_audio", input_audio: plainAudio(part.input_audio) };
		case "input_image": {
			if (!part.image_url) throw invalidInput(`${at}.image_url: expected a URL; no file can be stored here`);
			checkImageUrl(part.image_url, pointerTo(`${at}.image_url`), rules);
			// Chat has no value for the original size.
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
