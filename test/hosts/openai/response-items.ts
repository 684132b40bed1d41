/** Input items of the Responses API, and the conversation in them (https://platform.openai.com/docs/api-reference/responses/create). */
import * as z from "zod";
import type { Turn } from "../script.ts";
import { imageBytes, parsed } from "./chat-messages.ts";
import { refusal } from "./refusals.ts";

const cacheBreakpoint = z.looseObject({}).nullish();
const InputText = z.strictObject({
	type: z.literal("input_text"),
	text: z.string(),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const InputImage = z.strictObject({
	type: z.literal("input_image"),
	image_url: z.string().nullish(),
	file_id: z.string().nullish(),
	detail: z.enum(["auto", "low", "high", "original"]).nullish(),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const InputFile = z.strictObject({
	type: z.literal("input_file"),
	file_data: z.string().optional(),
	file_id: z.string().nullish(),
	file_url: z.string().optional(),
	filename: z.string().optional(),
	detail: z.string().optional(),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const OutputText = z.strictObject({
	type: z.literal("output_text"),
	text: z.string(),
	annotations: z.array(z.unknown()).optional(),
	logprobs: z.array(z.unknown()).optional(),
});
const Refused = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

const InputParts = z.array(z.discriminatedUnion("type", [InputText, InputImage, InputFile]));
const id = z.string().optional();
const status = z.enum(["in_progress", "completed", "incomplete"]).nullish();
const name = z.string().regex(/^[\w-]{1,64}$/);
const messageType = z.literal("message").optional();

const InputMessage = z.strictObject({
	type: messageType,
	role: z.enum(["system", "developer", "user"]),
	content: z.union([z.string(), InputParts]),
	id,
	status,
});
const OutputMessage = z.strictObject({
	type: messageType,
	role: z.literal("assistant"),
	content: z.union([z.string(), z.array(z.discriminatedUnion("type", [OutputText, Refused]))]),
	id,
	status,
	phase: z.enum(["commentary", "final_answer"]).nullish(),
});
const FunctionCall = z.strictObject({
	type: z.literal("function_call"),
	call_id: z.string().min(1).max(64),
	name,
	arguments: z.string(),
	namespace: z.string().optional(),
	id: z.string().startsWith("fc").optional(),
	status,
});
const CustomCall = z.strictObject({
	type: z.literal("custom_tool_call"),
	call_id: z.string().min(1).max(64),
	name,
	input: z.string(),
	namespace: z.string().optional(),
	id,
	status,
});
const Output = {
	call_id: z.string().min(1).max(64),
	output: z.union([z.string(), InputParts]),
	id,
	status,
};
const FunctionOutput = z.strictObject({ type: z.literal("function_call_output"), ...Output });
const CustomOutput = z.strictObject({ type: z.literal("custom_tool_call_output"), ...Output });
const Reasoning = z.strictObject({
	type: z.literal("reasoning"),
	id: z.string().startsWith("rs_").optional(),
	summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
	content: z.array(z.looseObject({})).nullish(),
	encrypted_content: z.string().nullish(),
	status,
});
/** Items of hosted tools and of newer features. The host knows them, and their fields do not matter here. */
const Hosted = z.looseObject({
	type: z.enum([
		"additional_tools",
		"compaction",
		"compaction_trigger",
		"computer_call",
		"computer_call_output",
		"image_generation_call",
		"item_reference",
		"local_shell_call",
		"local_shell_call_output",
		"mcp_call",
		"tool_search_call",
		"tool_search_output",
		"web_search_call",
	]),
});

export const InputItem = z.union([
	InputMessage,
	OutputMessage,
	FunctionCall,
	CustomCall,
	FunctionOutput,
	CustomOutput,
	Reasoning,
	Hosted,
]);
export type InputItem = z.output<typeof InputItem>;

const SEAL = "gAAAA";

/** Reasoning of a model, as the host encrypts it. */
export const sealOf = (model: string): string => `${SEAL}${btoa(`reasoning of ${model}`)}`;

/** A summary, as the host encrypts it. */
export const sealedSummary = (summary: string): string => SEAL + btoa(summary);

/** The rules of the items' order, references and encrypted reasoning. */
export function checkItems(items: readonly InputItem[]): void {
	const calls = new Set<string>();
	const outputs = new Set<string>();
	for (const [place, item] of items.entries()) {
		switch (item.type) {
			case "function_call":
			case "custom_tool_call":
				calls.add(item.call_id);
				break;
			case "function_call_output":
			case "custom_tool_call_output":
				if (!calls.has(item.call_id))
					throw refusal(400, `No tool call found for function call output with call_id ${item.call_id}.`, {
						param: "input",
					});
				outputs.add(item.call_id);
				break;
			case "compaction":
				if (!String(item.encrypted_content).startsWith(SEAL))
					throw refusal(400, "The encrypted content of the compaction item could not be verified.", {
						code: "invalid_encrypted_content",
					});
				break;
			case "item_reference":
				throw notFound(String(item.id));
			case "reasoning":
				checkReasoning(item, items[place + 1]);
		}
	}
	const open = [...calls].find((call) => !outputs.has(call));
	if (open !== undefined)
		throw refusal(400, `No tool output found for function call ${open}.`, { param: "input" });
}

function checkReasoning(item: z.output<typeof Reasoning>, next: InputItem | undefined): void {
	const { encrypted_content: seal, id: item_id = "" } = item;
	// Only encrypted reasoning is legal, because these requests do not store items.
	if (seal === undefined || seal === null) throw notFound(item_id);
	if (!seal.startsWith(SEAL))
		throw refusal(
			400,
			`The encrypted content for item ${item_id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
			{ code: "invalid_encrypted_content" },
		);
	const follows =
		next !== undefined &&
		("role" in next ? next.role === "assistant" : next.type !== undefined && !next.type.endsWith("_output"));
	if (!follows)
		throw refusal(
			400,
			`Item '${item_id}' of type 'reasoning' was provided without its required following item.`,
			{ param: "input" },
		);
}

const notFound = (id: string) =>
	refusal(
		400,
		`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
		{ param: "input" },
	);

type Part = { type: string; text?: string; image_url?: string | null };

const partsOf = (content: string | readonly Part[]): readonly Part[] =>
	typeof content === "string" ? [{ type: "input_text", text: content }] : content;
const textOfParts = (content: string | readonly Part[]): string =>
	partsOf(content)
		.map(({ text = "" }) => text)
		.join("\n");

const imagesOfParts = (content: string | readonly Part[]): number[] =>
	partsOf(content).flatMap(({ image_url }) => (image_url ? [imageBytes(image_url)] : []));

/** Neighbouring results of tools are one turn. */
export function turnsOfItems(items: readonly InputItem[]): Turn[] {
	const names = new Map<string, string>();
	const turns: Turn[] = [];
	const last = () => turns.at(-1);
	for (const item of items) {
		if (item.type === undefined || item.type === "message") {
			const content = item.content as string | readonly Part[];
			turns.push({
				role: item.role === "developer" ? "system" : (item.role as Turn["role"]),
				text: textOfParts(content),
				images: imagesOfParts(content),
				calls: [],
				results: [],
			});
			continue;
		}
		if (item.type === "compaction") {
			const summary = atob(String(item.encrypted_content).slice(SEAL.length));
			turns.push({ role: "assistant", text: summary, images: [], calls: [], results: [] });
		}
		const call = callOf(item);
		if (call) {
			names.set(call.id, call.name);
			const before = last();
			if (before?.role === "assistant")
				turns[turns.length - 1] = { ...before, calls: [...before.calls, call] };
			else turns.push({ role: "assistant", text: "", images: [], calls: [call], results: [] });
		}
		const output = outputOf(item);
		if (output) {
			const result = { name: names.get(output.id) ?? "", text: output.text };
			const before = last();
			const { images } = output;
			if (before && before.results.length > 0)
				turns[turns.length - 1] = {
					...before,
					images: [...before.images, ...images],
					results: [...before.results, result],
				};
			else turns.push({ role: "user", text: "", images, calls: [], results: [result] });
		}
	}
	return turns;
}

function callOf(item: InputItem): { id: string; name: string; input: Record<string, unknown> } | undefined {
	switch (item.type) {
		case "function_call":
			return { id: item.call_id, name: item.name, input: parsed(item.arguments) };
		case "custom_tool_call":
			return { id: item.call_id, name: item.name, input: { input: item.input } };
		case "tool_search_call":
			return { id: String(item.call_id), name: "tool_search", input: {} };
		default:
			return undefined;
	}
}

function outputOf(item: InputItem): { id: string; text: string; images: number[] } | undefined {
	switch (item.type) {
		case "function_call_output":
		case "custom_tool_call_output":
			return { id: item.call_id, text: textOfParts(item.output), images: imagesOfParts(item.output) };
		case "tool_search_output":
			return { id: String(item.call_id), text: "", images: [] };
		default:
			return undefined;
	}
}
