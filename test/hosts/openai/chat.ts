/** OpenAI's Chat Completions API (https://platform.openai.com/docs/api-reference/chat). */
import * as z from "zod";
import type { Conversation, Host } from "../script.ts";
import { ChatMessage, orderFault, turnsOf } from "./chat-messages.ts";
import { chatReply } from "./chat-reply.ts";
import type { OpenAIModel } from "./models.ts";
import {
	checkEffort,
	checkKey,
	checkSampling,
	checkStrict,
	failureOf,
	modelOf,
	read,
	refusal,
} from "./refusals.ts";

const Tool = z.discriminatedUnion("type", [
	z.strictObject({
		type: z.literal("function"),
		function: z.strictObject({
			name: z.string().regex(/^[\w-]{1,64}$/),
			description: z.string().optional(),
			parameters: z.looseObject({ type: z.literal("object") }).optional(),
			strict: z.boolean().nullish(),
		}),
	}),
	z.strictObject({ type: z.literal("custom"), custom: z.looseObject({ name: z.string() }) }),
]);

const JsonSchema = z.strictObject({
	name: z.string().regex(/^[\w-]{1,64}$/),
	description: z.string().optional(),
	schema: z.looseObject({}).optional(),
	strict: z.boolean().nullish(),
});

const ChatBody = z.strictObject({
	model: z.string(),
	messages: z.array(ChatMessage).min(1),
	audio: z.unknown().optional(),
	frequency_penalty: z.number().nullish(),
	function_call: z.unknown().optional(),
	functions: z.array(z.unknown()).optional(),
	logit_bias: z.unknown().optional(),
	logprobs: z.boolean().nullish(),
	max_completion_tokens: z.int().min(1).nullish(),
	max_tokens: z.int().min(1).nullish(),
	metadata: z.record(z.string(), z.string()).nullish(),
	modalities: z.array(z.string()).nullish(),
	n: z.int().min(1).nullish(),
	parallel_tool_calls: z.boolean().optional(),
	prediction: z.unknown().optional(),
	presence_penalty: z.number().nullish(),
	prompt_cache_key: z.string().optional(),
	prompt_cache_options: z.unknown().optional(),
	prompt_cache_retention: z.string().nullish(),
	reasoning_effort: z.string().nullish(),
	response_format: z
		.discriminatedUnion("type", [
			z.strictObject({ type: z.literal("text") }),
			z.strictObject({ type: z.literal("json_object") }),
			z.strictObject({ type: z.literal("json_schema"), json_schema: JsonSchema }),
		])
		.optional(),
	safety_identifier: z.string().max(128).optional(),
	seed: z.int().nullish(),
	service_tier: z.string().nullish(),
	stop: z.union([z.string(), z.array(z.string()).max(4), z.null()]).optional(),
	store: z.boolean().nullish(),
	stream: z.boolean().nullish(),
	stream_options: z
		.strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
		.nullish(),
	temperature: z.number().min(0).max(2).nullish(),
	tool_choice: z
		.union([
			z.enum(["none", "auto", "required"]),
			z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: z.string() }) }),
			z.strictObject({ type: z.literal("custom"), custom: z.strictObject({ name: z.string() }) }),
			z.strictObject({ type: z.literal("allowed_tools"), allowed_tools: z.looseObject({}) }),
		])
		.optional(),
	tools: z.array(Tool).min(1).optional(),
	top_logprobs: z.int().min(0).max(20).nullish(),
	top_p: z.number().nullish(),
	user: z.string().optional(),
	verbosity: z.enum(["low", "medium", "high"]).nullish(),
	web_search_options: z.looseObject({}).optional(),
});
export type ChatBody = z.output<typeof ChatBody>;

export const openaiChat: Host = (request, script) => {
	checkKey(request);
	const body = read(ChatBody, request.body);
	const model = modelOf(body.model, "chat");
	check(body, model);
	const reply = script(conversationOf(body));
	if (reply.kind === "failure") throw failureOf(reply.failure, body.model);
	return chatReply(reply, {
		model: body.model,
		stream: body.stream ?? false,
		includeUsage: body.stream_options?.include_usage ?? false,
		callPrefix: "call_",
		message: { refusal: null, annotations: [] },
	});
};

function check(body: ChatBody, model: OpenAIModel): void {
	const effort = checkEffort(model, body.reasoning_effort, "reasoning_effort", "chat");
	const { frequency_penalty, logprobs, presence_penalty, temperature, top_p } = body;
	checkSampling(model, effort, { temperature, top_p, logprobs, frequency_penalty, presence_penalty });
	if (model.efforts.length > 0 && body.max_tokens !== undefined && body.max_tokens !== null)
		throw refusal(
			400,
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			{ code: "unsupported_parameter", param: "max_tokens" },
		);
	for (const param of ["tool_choice", "parallel_tool_calls"] as const)
		if (body[param] !== undefined && !body.tools)
			throw refusal(400, `'${param}' is only allowed when 'tools' are specified.`, { param });
	if (body.stream_options && !body.stream)
		throw refusal(400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
			param: "stream_options",
		});
	// The models with this option search in each answer.
	if (body.web_search_options && !body.model.includes("-search-"))
		throw refusal(400, `Web search options not supported with this model: ${body.model}.`, {
			param: "web_search_options",
		});
	checkTools(body, model, effort);
	const { response_format: format } = body;
	if (format?.type === "json_schema" && format.json_schema.strict)
		checkStrict(format.json_schema.schema, `response_format '${format.json_schema.name}'`, "response_format");
	const order = orderFault(body.messages);
	if (order !== undefined) throw refusal(400, order, { param: "messages" });
}

function checkTools(body: ChatBody, { toolsOnChat }: OpenAIModel, effort: string): void {
	const functions = (body.tools ?? []).filter(({ type }) => type === "function");
	const asked = body.reasoning_effort ?? "none";
	const refused =
		toolsOnChat === "never" ||
		(toolsOnChat === "with none" && effort !== "none") ||
		(toolsOnChat === "unless asked" && asked !== "none");
	if (functions.length > 0 && refused)
		throw refusal(
			400,
			`Function tools with reasoning_effort are not supported for ${body.model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
			{ param: "reasoning_effort" },
		);
	for (const tool of body.tools ?? [])
		if (tool.type === "function" && tool.function.strict)
			checkStrict(tool.function.parameters, `function '${tool.function.name}'`, "tools");
}

export const conversationOf = (
	body: Pick<ChatBody, "model" | "messages" | "tools" | "tool_choice" | "response_format" | "stream">,
): Conversation => ({
	model: body.model,
	turns: turnsOf(body.messages),
	tools: (body.tools ?? []).flatMap((tool) => (tool.type === "function" ? [tool.function.name] : [])),
	choice: choiceOf(body.tool_choice),
	hosted: [],
	json: body.response_format !== undefined && body.response_format.type !== "text",
	stream: body.stream ?? false,
});

function choiceOf(choice: ChatBody["tool_choice"]): Conversation["choice"] {
	if (choice === undefined || choice === "auto") return "auto";
	if (choice === "none") return "none";
	return typeof choice === "object" && choice.type === "function" ? { name: choice.function.name } : "any";
}
