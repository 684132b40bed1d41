/** OpenAI's Responses API, stateless (https://platform.openai.com/docs/api-reference/responses). */
import * as z from "zod";
import type { Conversation, Host } from "../script.ts";
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
import { checkItems, InputItem, turnsOfItems } from "./response-items.ts";
import { responseReply } from "./response-reply.ts";
import { type OfferedTools, offeredTools } from "./response-tools.ts";

const FunctionTool = z.strictObject({
	type: z.literal("function"),
	name: z.string().regex(/^[\w-]{1,64}$/),
	description: z.string().nullish(),
	parameters: z.looseObject({ type: z.literal("object") }).nullish(),
	strict: z.boolean().nullish(),
	defer_loading: z.boolean().optional(),
});
const CustomTool = z.strictObject({
	type: z.literal("custom"),
	name: z.string(),
	description: z.string().optional(),
	format: z.looseObject({ type: z.enum(["text", "grammar"]) }).optional(),
	defer_loading: z.boolean().optional(),
});
const HostedTool = z.looseObject({
	type: z.enum([
		"apply_patch",
		"code_interpreter",
		"computer",
		"file_search",
		"image_generation",
		"local_shell",
		"mcp",
		"namespace",
		"shell",
		"tool_search",
		"web_search",
		"web_search_2025_08_26",
		"web_search_preview",
		"web_search_preview_2025_03_11",
	]),
});
const Tool = z.union([FunctionTool, CustomTool, HostedTool]);

const ResponsesBody = z.strictObject({
	model: z.string(),
	input: z.union([z.string(), z.array(InputItem).min(1)]),
	background: z.boolean().nullish(),
	client_metadata: z.unknown().optional(),
	context_management: z.unknown().optional(),
	conversation: z.unknown().optional(),
	include: z.array(z.string()).nullish(),
	instructions: z.string().nullish(),
	max_output_tokens: z.int().min(16).nullish(),
	max_tool_calls: z.int().nullish(),
	metadata: z.record(z.string(), z.string()).nullish(),
	moderation: z.unknown().optional(),
	parallel_tool_calls: z.boolean().nullish(),
	previous_response_id: z.string().nullish(),
	prompt: z.unknown().optional(),
	prompt_cache_key: z.string().nullish(),
	prompt_cache_options: z.unknown().optional(),
	prompt_cache_retention: z.string().nullish(),
	reasoning: z
		.strictObject({
			effort: z.string().nullish(),
			summary: z.enum(["auto", "concise", "detailed"]).nullish(),
			context: z.enum(["auto", "current_turn", "all_turns"]).nullish(),
			mode: z.enum(["standard", "pro"]).nullish(),
			generate_summary: z.string().nullish(),
		})
		.nullish(),
	safety_identifier: z.string().max(128).nullish(),
	service_tier: z.enum(["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]).nullish(),
	store: z.boolean().nullish(),
	stream: z.boolean().nullish(),
	stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
	temperature: z.number().min(0).max(2).nullish(),
	text: z
		.strictObject({
			format: z
				.discriminatedUnion("type", [
					z.strictObject({ type: z.literal("text") }),
					z.strictObject({ type: z.literal("json_object") }),
					z.strictObject({
						type: z.literal("json_schema"),
						name: z.string().regex(/^[\w-]{1,64}$/),
						schema: z.looseObject({}),
						strict: z.boolean().nullish(),
						description: z.string().optional(),
					}),
				])
				.optional(),
			verbosity: z.enum(["low", "medium", "high"]).nullish(),
		})
		.optional(),
	tool_choice: z
		.union([
			z.enum(["none", "auto", "required"]),
			z.looseObject({ type: z.string(), name: z.string().optional() }),
		])
		.nullish(),
	tools: z.array(Tool).nullish(),
	top_logprobs: z.int().min(0).max(20).nullish(),
	top_p: z.number().nullish(),
	truncation: z.enum(["auto", "disabled"]).nullish(),
	user: z.string().nullish(),
});
type ResponsesBody = z.output<typeof ResponsesBody>;

export const openaiResponses: Host = (request, script) => {
	checkKey(request);
	const body = read(ResponsesBody, request.body);
	const model = modelOf(body.model, "responses");
	const effort = checkEffort(model, body.reasoning?.effort, "reasoning.effort", "responses");
	const { temperature, top_p } = body;
	checkSampling(model, effort, { temperature, top_p });
	check(body);
	const seals = body.include?.includes("reasoning.encrypted_content") ?? false;
	if (seals && model.efforts.length === 0)
		throw refusal(400, "Encrypted content is not supported with this model.", { param: "include" });
	const tools = offeredTools(body.tools, typeof body.input === "string" ? [] : body.input);
	const reply = script(conversationOf(body, tools));
	if (reply.kind === "failure") throw failureOf(reply.failure, body.model);
	const summary = (body.reasoning?.summary ?? null) !== null;
	return responseReply(reply, {
		model: body.model,
		stream: body.stream ?? false,
		compacts: isCompaction(body),
		reasoning: effort === "none" ? undefined : { sealed: seals, summary },
		tools,
		echo: { tools: body.tools ?? [], store: body.store ?? true },
	});
};

function check(body: ResponsesBody): void {
	if (body.previous_response_id)
		throw refusal(400, `Previous response with id '${body.previous_response_id}' not found.`, {
			code: "previous_response_not_found",
			param: "previous_response_id",
		});
	if (typeof body.input !== "string") checkItems(body.input);
	const format = body.text?.format;
	if (format?.type === "json_schema" && format.strict)
		checkStrict(format.schema, `response_format '${format.name}'`, "text.format.schema");
	for (const [place, tool] of (body.tools ?? []).entries())
		if (tool.type === "function" && "strict" in tool && tool.strict === true && "parameters" in tool)
			checkStrict(tool.parameters, `function '${String(tool.name)}'`, `tools[${place}].parameters`);
}

const isCompaction = ({ input }: Pick<ResponsesBody, "input">): boolean =>
	typeof input !== "string" && input.some(({ type }) => type === "compaction_trigger");

const hostedOf = (tools: ResponsesBody["tools"]): string[] =>
	(tools ?? []).flatMap(({ type }) => (type.startsWith("web_search") ? ["web_search"] : []));

const conversationOf = (
	{ input, instructions, model, stream, text, tool_choice: choice, tools: offered }: ResponsesBody,
	tools: OfferedTools,
): Conversation => ({
	model,
	turns: [
		...(instructions
			? [{ role: "system", text: instructions, images: [], calls: [], results: [] } as const]
			: []),
		...turnsOfItems(typeof input === "string" ? [{ role: "user", content: input }] : input),
	],
	tools: [...tools.keys()],
	hosted: hostedOf(offered),
	compacts: isCompaction({ input }),
	choice:
		choice === undefined || choice === null || choice === "auto"
			? "auto"
			: choice === "none"
				? "none"
				: typeof choice === "object" && choice.type === "function"
					? { name: choice.name ?? "" }
					: "any",
	json: text?.format !== undefined && text.format.type !== "text",
	stream: stream ?? false,
});
