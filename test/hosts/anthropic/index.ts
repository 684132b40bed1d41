/** Anthropic's Messages API (https://docs.anthropic.com/en/api/messages), with the rules of its newest models. */
import * as z from "zod";
import { faultOf } from "../faults.ts";
import {
	CONTEXT_TOKENS,
	type Conversation,
	type FailureName,
	type Host,
	INPUT_TOKENS,
	RETRY_AFTER_S,
	Refusal,
} from "../script.ts";
import { block_binding, pathWithoutBeta, SystemMessage } from "./betas.ts";
import { Block, blocksOf, cache_control, TextBlock, textOfBlocks, turnsOf } from "./blocks.ts";
import { messageReply, SIGNATURE } from "./reply.ts";

export { SIGNATURE } from "./reply.ts";
export const ANTHROPIC_KEY = "sk-ant-test";

/** The newest models think by their effort, and refuse budgets and sampling fields. */
const MODELS: Readonly<Record<string, { newest: boolean }>> = {
	"claude-sonnet-4-5": { newest: false },
	"claude-haiku-4-5": { newest: false },
	"claude-haiku-5-5": { newest: true },
	"claude-opus-5-5": { newest: true },
	"claude-sonnet-5-5": { newest: true },
	"claude-fable-5-2": { newest: true },
};
/** Documented, and the version that the SDK sends. */
const VERSIONS: readonly unknown[] = ["2023-06-01", "2026-10-21"];

const CustomTool = z.strictObject({
	type: z.literal("custom").nullish(),
	name: z.string().regex(/^[\w-]{1,128}$/),
	description: z.string().optional(),
	input_schema: z.looseObject({ type: z.literal("object") }),
	strict: z.boolean().optional(),
	eager_input_streaming: z.boolean().nullish(),
	defer_loading: z.boolean().optional(),
	allowed_callers: z.array(z.string()).optional(),
	input_examples: z.array(z.unknown()).optional(),
	cache_control,
});
const HostedTool = z.looseObject({
	type: z
		.string()
		.regex(/^(?:web_search|web_fetch|code_execution|bash|text_editor|tool_search_tool\w*|memory)_\d{8}$/),
	name: z.string(),
});

const MessagesBody = z.strictObject({
	model: z.string().min(1),
	max_tokens: z.int().min(1),
	messages: z
		.array(
			z.discriminatedUnion("role", [
				z.strictObject({
					role: z.enum(["user", "assistant"]),
					content: z.union([z.string(), z.array(Block)]),
				}),
				SystemMessage,
			]),
		)
		.min(1),
	cache_control,
	container: z.unknown().optional(),
	context_management: z.looseObject({}).nullish(),
	mcp_servers: z.array(z.unknown()).optional(),
	metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
	output_config: z
		.strictObject({
			effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish(),
			format: z.strictObject({ type: z.literal("json_schema"), schema: z.looseObject({}) }).nullish(),
		})
		.optional(),
	output_format: z.looseObject({}).nullish(),
	service_tier: z.enum(["auto", "standard_only"]).optional(),
	stop_sequences: z.array(z.string().regex(/\S/)).optional(),
	stream: z.boolean().optional(),
	system: z.union([z.string(), z.array(TextBlock)]).optional(),
	temperature: z.number().min(0).max(1).optional(),
	thinking: z
		.discriminatedUnion("type", [
			z.strictObject({
				type: z.literal("enabled"),
				budget_tokens: z.int().min(1024),
				display: z.string().nullish(),
				block_binding,
			}),
			z.strictObject({
				type: z.literal("adaptive"),
				display: z.enum(["summarized", "omitted", "updates"]).nullish(),
				block_binding,
			}),
			z.strictObject({ type: z.literal("disabled") }),
		])
		.optional(),
	tool_choice: z
		.strictObject({
			type: z.enum(["auto", "any", "none", "tool"]),
			name: z.string().optional(),
			disable_parallel_tool_use: z.boolean().optional(),
		})
		.optional(),
	tools: z.array(z.union([CustomTool, HostedTool])).optional(),
	top_k: z.int().optional(),
	top_p: z.number().optional(),
});
type MessagesBody = z.output<typeof MessagesBody>;

const refusal = (status: number, type: string, message: string, headers?: Record<string, string>): Refusal =>
	new Refusal(status, { type: "error", error: { type, message }, request_id: "req_1" }, headers);
const invalid = (message: string): Refusal => refusal(400, "invalid_request_error", message);

export const anthropic: Host = ({ body, headers, path }, script) => {
	// The SDK sends its key as a bearer token since version 1.
	if (headers["x-api-key"] !== ANTHROPIC_KEY && headers.authorization !== `Bearer ${ANTHROPIC_KEY}`)
		throw refusal(401, "authentication_error", "invalid x-api-key");
	if (path !== "/v1/messages") throw refusal(404, "not_found_error", "Not Found");
	if (!VERSIONS.includes(headers["anthropic-version"]))
		throw invalid("anthropic-version: header is required");
	const { data, error } = MessagesBody.safeParse(body);
	if (!data) throw invalid(sentenceOf(error));
	const betas = String(headers["anthropic-beta"] ?? "").split(/\s*,\s*/);
	const unknown = pathWithoutBeta(data, betas);
	if (unknown !== undefined) throw invalid(`${unknown}: Extra inputs are not permitted`);
	const model = MODELS[data.model];
	if (!model) throw refusal(404, "not_found_error", `model: ${data.model}`);
	check(data, model);
	const reply = script(conversationOf(data));
	if (reply.kind === "failure") throw failureOf(reply.failure, data);
	return messageReply(reply, {
		model: data.model,
		stream: data.stream ?? false,
		thinks: data.thinking?.type === "enabled" || data.thinking?.type === "adaptive",
	});
};

/** `messages.0.content: Field required` */
function sentenceOf(error: z.ZodError): string {
	const { message, path, unknownField } = faultOf(error);
	const steps = path.replaceAll("[", ".").replaceAll("]", "");
	if (unknownField !== undefined)
		return `${steps === "" ? "" : `${steps}.`}${unknownField}: Extra inputs are not permitted`;
	return `${steps}: ${message.includes("received undefined") ? "Field required" : message}`;
}

function check(body: MessagesBody, { newest }: { newest: boolean }): void {
	const { max_tokens, messages, temperature, thinking, tool_choice, top_k, top_p } = body;
	const sampled = temperature !== undefined || top_p !== undefined || top_k !== undefined;
	if (newest && sampled) throw invalid("temperature, top_p and top_k are not supported for this model");
	if (temperature !== undefined && top_p !== undefined)
		throw invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one.");
	if (newest && thinking?.type === "enabled")
		throw invalid(
			'"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
		);
	if (!newest && thinking?.type === "adaptive")
		throw invalid("adaptive thinking is not supported on this model");
	const thinks = thinking?.type === "enabled" || thinking?.type === "adaptive";
	if (thinks && (temperature !== undefined || top_k !== undefined))
		throw invalid("`temperature` may only be set to 1 when thinking is enabled.");
	if (thinks && tool_choice && !["auto", "none"].includes(tool_choice.type))
		throw invalid("Thinking may not be enabled when tool_choice forces tool use.");
	if (thinking?.type === "enabled" && thinking.budget_tokens >= max_tokens)
		throw invalid("`max_tokens` must be greater than `thinking.budget_tokens`");
	const [first] = messages;
	if (first?.role !== "user") throw invalid('messages: first message must use the "user" role');
	for (const [place, message] of messages.entries())
		checkBlocks(place, message, messages[place - 1], thinking?.type === "enabled");
}

function checkBlocks(
	place: number,
	{ content, role }: MessagesBody["messages"][number],
	before: MessagesBody["messages"][number] | undefined,
	needsThinking: boolean,
): void {
	const blocks = blocksOf(content);
	for (const [index, block] of blocks.entries())
		if (block.type === "thinking" && block.signature !== SIGNATURE)
			throw invalid(`messages.${place}.content.${index}: Invalid \`signature\` in \`thinking\` block`);
	const earlier = blocksOf(before?.content ?? []);
	const open = earlier.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
	const answered = blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
	if (role !== "user") return;
	const missing = open.find((id) => !answered.includes(id));
	if (missing !== undefined)
		throw invalid(
			`messages.${place - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
		);
	const unexpected = answered.find((id) => !open.includes(id));
	if (unexpected !== undefined)
		throw invalid(
			`messages.${place}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unexpected}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
		);
	const [start] = earlier;
	if (
		needsThinking &&
		answered.length > 0 &&
		start?.type !== "thinking" &&
		start?.type !== "redacted_thinking"
	)
		throw invalid(
			`messages.${place - 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${start?.type}\`.`,
		);
}

function conversationOf(body: MessagesBody): Conversation {
	const { messages, model, output_config, stream, system, tool_choice, tools } = body;
	const type = tool_choice?.type ?? "auto";
	return {
		model,
		turns: [
			...(system === undefined
				? []
				: [{ role: "system", text: textOfBlocks(system), images: [], calls: [], results: [] } as const]),
			...turnsOf(messages),
		],
		tools: (tools ?? []).flatMap((tool) => ("input_schema" in tool ? [tool.name] : [])),
		hosted: (tools ?? []).flatMap((tool) => ("input_schema" in tool ? [] : [tool.name])),
		choice: type === "tool" ? { name: tool_choice?.name ?? "" } : type,
		json: Boolean(output_config?.format),
		stream: stream ?? false,
		maxTokens: body.max_tokens,
	};
}

function failureOf(failure: FailureName, { max_tokens }: MessagesBody): Refusal {
	switch (failure) {
		case "rate limit":
			return refusal(
				429,
				"rate_limit_error",
				"This request would exceed your organization's rate limit of 50 requests per minute.",
				{ "retry-after": String(RETRY_AFTER_S) },
			);
		case "full context":
			return invalid("prompt is too long: 213131 tokens > 200000 maximum");
		case "no room":
			return invalid(
				`input length and \`max_tokens\` exceed context limit: ${INPUT_TOKENS} + ${max_tokens} > ${CONTEXT_TOKENS}, decrease input length or \`max_tokens\` and try again`,
			);
		case "server error":
			return refusal(529, "overloaded_error", "Overloaded");
	}
}
