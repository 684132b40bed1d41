/**
 * Anthropic's Messages API as documented, as far as these tests go (https://docs.anthropic.com/en/api/messages): it
 * refuses what the API refuses, and answers with its blocks and events.
 */
import * as z from "zod";
import type { Asked, Said } from "./asked.ts";
import { type Answer, pieces, type Question, type Turn, think } from "./mind.ts";

const cache_control = z.strictObject({ type: z.literal("ephemeral"), ttl: z.string().optional() }).optional();
const Text = z.strictObject({ type: z.literal("text"), text: z.string().regex(/\S/), cache_control });
const Thinking = z.strictObject({
	type: z.literal("thinking"),
	thinking: z.string(),
	signature: z.string().min(1),
});
const ToolUse = z.strictObject({
	type: z.literal("tool_use"),
	id: z.string().regex(/^[\w-]+$/),
	name: z.string(),
	input: z.record(z.string(), z.unknown()),
	cache_control,
});
const ToolResult = z.strictObject({
	type: z.literal("tool_result"),
	tool_use_id: z.string(),
	content: z.union([z.string(), z.array(Text)]).optional(),
	is_error: z.boolean().optional(),
	cache_control,
});
const Block = z.discriminatedUnion("type", [Text, Thinking, ToolUse, ToolResult]);
type Block = z.output<typeof Block>;

const Request = z.strictObject({
	model: z.string().min(1),
	max_tokens: z.int().min(1),
	messages: z
		.array(
			z.strictObject({ role: z.enum(["user", "assistant"]), content: z.union([z.string(), z.array(Block)]) }),
		)
		.min(1),
	system: z.union([z.string(), z.array(Text)]).optional(),
	stream: z.boolean().optional(),
	temperature: z.number().min(0).max(1).optional(),
	top_p: z.number().optional(),
	top_k: z.int().optional(),
	stop_sequences: z.array(z.string()).optional(),
	tools: z
		.array(
			z.strictObject({
				type: z.literal("custom").optional(),
				name: z.string().regex(/^[\w-]{1,64}$/),
				description: z.string().optional(),
				input_schema: z.looseObject({ type: z.literal("object") }),
				strict: z.boolean().optional(),
				eager_input_streaming: z.boolean().optional(),
				cache_control,
			}),
		)
		.optional(),
	tool_choice: z
		.strictObject({
			type: z.enum(["auto", "any", "none", "tool"]),
			name: z.string().optional(),
			disable_parallel_tool_use: z.boolean().optional(),
		})
		.optional(),
	thinking: z
		.discriminatedUnion("type", [
			z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1024) }),
			z.strictObject({ type: z.literal("disabled") }),
		])
		.optional(),
	output_config: z
		.strictObject({
			effort: z.string().optional(),
			format: z.strictObject({ type: z.literal("json_schema"), schema: z.looseObject({}) }).optional(),
		})
		.optional(),
	metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
});
type Request = z.output<typeof Request>;

class Refusal extends Error {}

const THOUGHTS = "The user wants to be answered.";
export const SIGNATURE = "sig-of-claude";
const KEY = "sk-ant-test";
/** Documented, and sent by the SDK. */
const VERSIONS = new Set<unknown>(["2023-06-01", "2026-10-21"]);

export function anthropic({ headers, body }: Asked): Said {
	// The SDK sends its key as a bearer token since version 1.
	if (headers["x-api-key"] !== KEY && headers.authorization !== `Bearer ${KEY}`)
		return refusal(401, "authentication_error", "invalid x-api-key");
	if (!VERSIONS.has(headers["anthropic-version"] ?? ""))
		return refusal(400, "invalid_request_error", "anthropic-version: header is required");
	const { data, error } = Request.safeParse(body);
	if (!data) return refusal(400, "invalid_request_error", z.prettifyError(error));
	try {
		check(data);
	} catch (refused) {
		if (!(refused instanceof Refusal)) throw refused;
		return refusal(400, "invalid_request_error", refused.message);
	}
	const answer = think(questionOf(data));
	const { content, stop_reason } = message(data, answer);
	const head = {
		id: `msg_${crypto.randomUUID().slice(0, 8)}`,
		type: "message",
		role: "assistant",
		model: data.model,
	};
	const usage = {
		input_tokens: 20,
		cache_creation_input_tokens: 0,
		cache_read_input_tokens: 7,
		output_tokens: 9,
	};
	if (!data.stream) return { json: { ...head, content, stop_reason, stop_sequence: null, usage } };
	return { events: eventsOf(head, content, stop_reason, usage) };
}

const refusal = (status: number, type: string, text: string): Said => ({
	status,
	json: { type: "error", error: { type, message: text }, request_id: "req_1" },
});

const blocksOf = (content: string | Block[]): Block[] =>
	typeof content === "string" ? [{ type: "text", text: content }] : content;

/** What a schema does not say. */
function check({ messages, thinking, temperature, top_p, top_k, tool_choice, max_tokens }: Request): void {
	const refuse = (text: string): never => {
		throw new Refusal(text);
	};
	if (temperature !== undefined && top_p !== undefined)
		refuse("`temperature` and `top_p` cannot both be specified");
	const thinks = thinking?.type === "enabled";
	if (thinks && (temperature !== undefined || top_k !== undefined)) refuse("not while thinking is enabled");
	if (thinks && tool_choice && !["auto", "none"].includes(tool_choice.type))
		refuse("Thinking may not be enabled when tool_choice forces tool use.");
	if (thinking?.type === "enabled" && thinking.budget_tokens >= max_tokens)
		refuse("`max_tokens` must be greater than `thinking.budget_tokens`");
	if (messages[0]?.role !== "user") refuse('messages: first message must use the "user" role');
	for (const [place, { role, content }] of messages.entries()) {
		const blocks = blocksOf(content);
		for (const block of blocks)
			if (block.type === "thinking" && block.signature !== SIGNATURE)
				refuse(`messages.${place}: Invalid \`signature\` in \`thinking\` block`);
		const before = blocksOf(messages[place - 1]?.content ?? []);
		const open = before.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
		const answered = blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
		if (role === "user" && [...open].sort().join() !== [...answered].sort().join())
			refuse(
				`messages.${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
			);
		if (thinks && role === "user" && answered.length > 0 && before[0]?.type !== "thinking")
			refuse(`messages.${place - 1}: Expected \`thinking\`, but found \`${before[0]?.type}\``);
	}
}

function questionOf({ system, messages, tools = [], tool_choice, output_config }: Request): Question {
	const names = new Map<string, string>();
	const turns: Turn[] = messages.map(({ role, content }) => {
		const turn: Turn = { role, text: "", results: [] };
		for (const block of blocksOf(content)) {
			if (block.type === "text") turn.text += block.text;
			if (block.type === "tool_use") names.set(block.id, block.name);
			if (block.type === "tool_result")
				turn.results.push({ name: names.get(block.tool_use_id) ?? "", text: textOf(block.content ?? "") });
		}
		return turn;
	});
	const type = tool_choice?.type ?? "auto";
	return {
		turns: [{ role: "system", text: textOf(system ?? ""), results: [] }, ...turns],
		tools: tools.map(({ name }) => name),
		choice: type === "tool" ? { name: tool_choice?.name ?? "" } : type,
		json: output_config?.format !== undefined,
	};
}

const textOf = (content: string | { text: string }[]): string =>
	typeof content === "string" ? content : content.map(({ text }) => text).join("\n");

function message({ thinking }: Request, { text, calls }: Answer): { content: Block[]; stop_reason: string } {
	const content: Block[] = [
		...(thinking?.type === "enabled"
			? [{ type: "thinking", thinking: THOUGHTS, signature: SIGNATURE } as const]
			: []),
		...(text ? [{ type: "text", text } as const] : []),
		...calls.map(
			({ name, input }) =>
				({ type: "tool_use", id: `toolu_${crypto.randomUUID().slice(0, 8)}`, name, input }) as const,
		),
	];
	return { content, stop_reason: calls.length > 0 ? "tool_use" : "end_turn" };
}

function eventsOf(
	head: object,
	content: Block[],
	stop_reason: string,
	{ output_tokens, ...usage }: { output_tokens: number },
): string[] {
	const event = (type: string, fields: object = {}) =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
	const start = {
		...head,
		content: [],
		stop_reason: null,
		stop_sequence: null,
		usage: { ...usage, output_tokens: 1 },
	};
	return [
		event("message_start", { message: start }),
		event("ping"),
		...content.flatMap((block, index) => [
			event("content_block_start", { index, content_block: emptyOf(block) }),
			...deltasOf(block).map((delta) => event("content_block_delta", { index, delta })),
			event("content_block_stop", { index }),
		]),
		event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }),
		event("message_stop"),
	];
}

function emptyOf(block: Block): object {
	if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
	return block.type === "tool_use" ? { ...block, input: {} } : { type: "text", text: "" };
}

function deltasOf(block: Block): object[] {
	if (block.type === "thinking")
		return [
			...pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
			{ type: "signature_delta", signature: block.signature },
		];
	if (block.type === "tool_use")
		return ["", ...pieces(JSON.stringify(block.input))].map((partial_json) => ({
			type: "input_json_delta",
			partial_json,
		}));
	return block.type === "text" ? pieces(block.text).map((text) => ({ type: "text_delta", text })) : [];
}
