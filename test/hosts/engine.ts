/**
 * A self-hosted engine, as vLLM serves a model with a strict chat template
 * (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html). It has chat completions, completions and embeddings, ignores fields
 * that it does not know, and refuses roles and orders that the template does not have.
 */
import * as z from "zod";
import { faultOf, fieldPath } from "./faults.ts";
import { ChatMessage, turnsOf } from "./openai/chat-messages.ts";
import { chatReply } from "./openai/chat-reply.ts";
import { CONTEXT_TOKENS, type Host, INPUT_TOKENS, RETRY_AFTER_S, Refusal } from "./script.ts";

export const ENGINE_MODEL = "kimi-k2.6";

const EngineMessage = z.looseObject({
	role: z.enum(["system", "user", "assistant", "tool"]),
	content: z.unknown().optional(),
});

const EngineBody = z.looseObject({
	model: z.string(),
	messages: z.array(EngineMessage).min(1),
	stream: z.boolean().nullish(),
	stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
	max_tokens: z.int().min(1).nullish(),
	temperature: z.number().min(0).nullish(),
	tools: z
		.array(z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }))
		.nullish(),
	tool_choice: z.unknown().optional(),
	response_format: z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) }).nullish(),
});

const refusal = (status: number, message: string, type: string, headers?: Record<string, string>): Refusal =>
	new Refusal(status, { error: { message, type, param: null, code: status } }, headers);

const Tokens = z.array(z.int().min(0)).min(1);
const CompletionBody = z.looseObject({
	prompt: z.union([z.string(), z.array(z.string()).min(1), Tokens, z.array(Tokens).min(1)]),
	echo: z.boolean().nullish(),
	logprobs: z.int().nullish(),
	max_tokens: z.int().min(1).nullish(),
	n: z.int().nullish(),
	stop: z.union([z.string(), z.array(z.string())]).nullish(),
	stream: z.boolean().nullish(),
	suffix: z.null().optional(),
	temperature: z.number().nullish(),
});
const EmbeddingBody = z.looseObject({
	input: z.union([z.string(), z.array(z.string()).min(1), Tokens, z.array(Tokens).min(1)]),
	encoding_format: z.enum(["float", "base64"]).nullish(),
	dimensions: z.int().min(1).nullish(),
	user: z.string().nullish(),
});
const USAGE = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };

function parsed<Body>(schema: z.ZodType<Body>, body: unknown): Body {
	const result = schema.safeParse(body);
	if (result.success) return result.data;
	const fault = faultOf(result.error);
	throw refusal(400, `1 validation error: ${fieldPath(fault)}: ${fault.message}`, "Bad Request");
}

/** Continues each prompt with `Hello`. */
function completion(body: unknown): object {
	const { prompt } = parsed(CompletionBody, body);
	const count = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
	const choices = Array.from({ length: count }, (_, index) => ({
		...{ index, text: "Hello", logprobs: null, finish_reason: "stop" },
	}));
	return { id: "cmpl-1", object: "text_completion", created: 1, model: ENGINE_MODEL, choices, usage: USAGE };
}

function embeddings(body: unknown): object {
	const { input, encoding_format } = parsed(EmbeddingBody, body);
	const count = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
	const embedding = encoding_format === "base64" ? "AACAPwAAAAA=" : [1, 0];
	const data = Array.from({ length: count }, (_, index) => ({ object: "embedding", index, embedding }));
	return { object: "list", data, model: ENGINE_MODEL, usage: { prompt_tokens: 2, total_tokens: 2 } };
}

export const engine: Host = ({ body, path }, script) => {
	if (path === "/v1/completions") return { json: completion(body) };
	if (path === "/v1/embeddings") return { json: embeddings(body) };
	if (path !== "/v1/chat/completions") throw new Refusal(404, { detail: "Not Found" });
	const data = parsed(EngineBody, body);
	if (data.model !== ENGINE_MODEL)
		throw refusal(404, `The model \`${data.model}\` does not exist.`, "NotFoundError");
	if (data.messages.slice(1).some(({ role }) => role === "system"))
		throw refusal(400, "System message must be at the beginning.", "BadRequestError");
	const choice = data.tool_choice ?? "auto";
	const reply = script({
		model: data.model,
		// The template ignores fields of messages that it does not know.
		turns: turnsOf(data.messages.flatMap(readable).map((message) => ChatMessage.parse(message))),
		tools: (data.tools ?? []).map((tool) => tool.function.name),
		hosted: [],
		choice: choice === "none" ? "none" : choice === "auto" ? "auto" : "any",
		json: data.response_format !== undefined && data.response_format?.type !== "text",
		stream: data.stream ?? false,
		maxTokens: data.max_tokens ?? undefined,
	});
	if (reply.kind === "failure")
		switch (reply.failure) {
			case "rate limit":
				throw refusal(429, "Too many requests, try again later.", "RateLimitError", {
					"retry-after": String(RETRY_AFTER_S),
				});
			case "full context":
				throw refusal(
					400,
					"This model's maximum context length is 128000 tokens. However, you requested 131313 tokens in the messages, Please reduce the length of the messages.",
					"BadRequestError",
				);
			case "no room": {
				const output = data.max_tokens ?? 0;
				throw refusal(
					400,
					`'max_tokens' or 'max_completion_tokens' is too large: ${output}. This model's maximum context length is ${CONTEXT_TOKENS} tokens and your request has ${INPUT_TOKENS} input tokens (${output} > ${CONTEXT_TOKENS} - ${INPUT_TOKENS}).`,
					"BadRequestError",
				);
			}
			case "server error":
				throw refusal(500, "Internal Server Error", "InternalServerError");
		}
	return chatReply(reply, {
		model: data.model,
		stream: data.stream ?? false,
		includeUsage: data.stream_options?.include_usage ?? false,
		callPrefix: "chatcmpl-tool-",
		message: { reasoning: null },
	});
};

const KNOWN = ["role", "content", "tool_calls", "tool_call_id"];

const ImageParts = z.array(z.looseObject({ type: z.string() }));

/** The fields that the template knows. It takes images in the result of a tool, which are read as a message of their own. */
function readable(message: z.output<typeof EngineMessage>): object[] {
	const fields = Object.fromEntries(Object.entries(message).filter(([name]) => KNOWN.includes(name)));
	const { data: parts } = ImageParts.safeParse(message.content);
	if (message.role !== "tool" || !parts) return [fields];
	const images = parts.filter(({ type }) => type === "image_url");
	const texts = parts.filter(({ type }) => type !== "image_url");
	return [
		{ ...fields, content: texts.length > 0 ? texts : "" },
		...(images.length > 0 ? [{ role: "user", content: images }] : []),
	];
}
