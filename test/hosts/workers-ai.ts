/**
 * Workers AI's route of OpenAI's chat (https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility). Each model has the
 * schema of its page in the catalogue, also on this route: the older ones take text only, with a type and a description for each
 * property of a tool, and the newer ones OpenAI's form. Unknown fields are ignored. Failures have the account API's envelope.
 */
import * as z from "zod";
import { faultOf } from "./faults.ts";
import { turnsOf } from "./openai/chat-messages.ts";
import { chatReply } from "./openai/chat-reply.ts";
import { bytesOf, type Host, Refusal } from "./script.ts";

export const WORKERS_AI_KEY = "workers-ai-key";
export const WORKERS_AI_TEXT_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
export const WORKERS_AI_MODEL = "@cf/moonshotai/kimi-k2.6";

const Sampling = {
	stream: z.boolean().optional(),
	max_tokens: z.int().nullish(),
	seed: z.int().nullish(),
};

const TextBody = z.looseObject({
	...Sampling,
	messages: z
		.array(
			z.looseObject({
				role: z.string(),
				content: z.union([
					z.string(),
					z.array(z.looseObject({ type: z.string().optional(), text: z.string().optional() })),
				]),
			}),
		)
		.min(1),
	max_tokens: z.int().optional(),
	temperature: z.number().min(0).max(5).optional(),
	top_p: z.number().min(0.001).max(1).optional(),
	top_k: z.int().min(1).max(50).optional(),
	seed: z.int().min(1).max(9_999_999_999).optional(),
	repetition_penalty: z.number().min(0).max(2).optional(),
	frequency_penalty: z.number().min(-2).max(2).optional(),
	presence_penalty: z.number().min(-2).max(2).optional(),
	tools: z
		.array(
			z.looseObject({
				type: z.string(),
				function: z.looseObject({
					name: z.string(),
					description: z.string(),
					parameters: z.looseObject({
						type: z.string(),
						properties: z.record(z.string(), z.looseObject({ type: z.string(), description: z.string() })),
						required: z.array(z.string()).optional(),
					}),
				}),
			}),
		)
		.optional(),
	response_format: z.looseObject({ type: z.enum(["json_object", "json_schema"]) }).optional(),
});

const Part = z.looseObject({
	type: z.enum(["text", "image_url", "input_audio", "file", "refusal"]),
	text: z.string().optional(),
	image_url: z
		.looseObject({ url: z.string(), detail: z.enum(["auto", "low", "high"]).optional() })
		.optional(),
});
const Call = z.looseObject({
	id: z.string(),
	type: z.enum(["function", "custom"]),
	function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const OpenAiBody = z.looseObject({
	...Sampling,
	messages: z
		.array(
			z.discriminatedUnion("role", [
				z.looseObject({
					role: z.enum(["developer", "system"]),
					content: z.union([z.string(), z.array(Part)]),
				}),
				z.looseObject({ role: z.literal("user"), content: z.union([z.string(), z.array(Part)]) }),
				z.looseObject({
					role: z.literal("assistant"),
					content: z.union([z.string(), z.array(Part)]).nullish(),
					tool_calls: z.array(Call).optional(),
				}),
				z.looseObject({
					role: z.literal("tool"),
					content: z.union([z.string(), z.array(Part)]),
					tool_call_id: z.string(),
				}),
			]),
		)
		.min(1),
	temperature: z.number().min(0).max(2).nullish(),
	top_p: z.number().min(0).max(1).nullish(),
	n: z.int().min(1).max(128).nullish(),
	stop: z.union([z.string(), z.array(z.string()).min(1).max(4)]).nullish(),
	reasoning_effort: z.enum(["low", "medium", "high"]).nullish(),
	tools: z
		.array(
			z.looseObject({
				type: z.enum(["function", "custom"]),
				function: z.looseObject({ name: z.string(), parameters: z.looseObject({}).optional() }),
			}),
		)
		.optional(),
	tool_choice: z
		.union([z.enum(["none", "auto", "required"]), z.looseObject({ type: z.string() })])
		.optional(),
	response_format: z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) }).optional(),
});

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
	[WORKERS_AI_TEXT_MODEL]: TextBody,
	[WORKERS_AI_MODEL]: OpenAiBody,
};

const refusal = (status: number, code: number, message: string): Refusal =>
	new Refusal(status, { result: null, success: false, errors: [{ code, message }], messages: [] });

export const workersAi: Host = ({ body, headers, method, path }, script) => {
	if (headers.authorization !== `Bearer ${WORKERS_AI_KEY}`)
		throw refusal(401, 10_000, "Authentication error");
	if (`${method} ${path}` !== "POST /client/v4/accounts/acme/ai/v1/chat/completions")
		throw refusal(404, 7_000, "No route for that URI");
	const { model } = z.looseObject({ model: z.string() }).parse(body);
	const { data, error } = SCHEMAS[model]?.safeParse(body) ?? {};
	if (error) {
		const { path: place, message } = faultOf(error);
		throw refusal(
			400,
			5006,
			`AiError: Bad input: Error: oneOf at '/' not met, 0 matches: '${place}' ${message}`,
		);
	}
	if (!data) throw refusal(400, 5007, `AiError: No such model: ${model} or task`);
	const sent = data as z.output<typeof OpenAiBody>;
	const turns = turnsOf(sent.messages as never);
	for (const message of sent.messages)
		for (const part of Array.isArray(message.content) ? message.content : []) checkImage(part.image_url?.url);
	const reply = script({
		...{ model, turns, hosted: [], choice: "auto" },
		tools: (sent.tools ?? []).map((tool) => tool.function.name),
		json: (sent.response_format?.type ?? "text") !== "text",
		stream: sent.stream ?? false,
		maxTokens: sent.max_tokens ?? undefined,
	});
	if (reply.kind === "failure") throw refusal(429, 3040, "AiError: Capacity temporarily exceeded");
	return chatReply(reply, {
		model,
		stream: sent.stream ?? false,
		includeUsage: true,
		callPrefix: "chatcmpl-tool-",
	});
};

/** Addresses are not fetched. */
function checkImage(url: string | undefined): void {
	if (url === undefined) return;
	const [, base64] = /^data:image\/[\w+.-]+;base64,(.*)$/s.exec(url) ?? [];
	if (base64 === undefined) throw refusal(400, 8001, "AiError: Invalid input: image_url must be a data URI");
	bytesOf(base64);
}
