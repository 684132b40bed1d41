/**
 * The errors of engines: the failure that the caller gets, whether another call is made, and how the circuit breaker
 * counts them. `recorded` replies are llama-server's (build 11669), byte for byte; the others follow the engines' public
 * sources, documentation and issue threads.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { postJson } from "../../../src/backends/transport/http.ts";
import { AiError, type FailureKey } from "../../../src/core/errors.ts";
import { decide, isHealthy, type RetryDecision } from "../../../src/pipeline/dispatch/retry-policy.ts";
import { callOf, failureOf, json } from "../upstream.ts";

/** How the circuit breaker counts the error. */
type Health = "works" | "fails" | "nothing";

interface Row {
	from: string;
	status: number;
	body: string;
	key: FailureKey;
	/** The message to the caller. Absent: the engine's, unchanged. */
	description?: string;
	verdict: RetryDecision;
	health: Health;
}

const refused = { key: "engineRefused", verdict: "fail", health: "works" } as const;
const tooLong = { key: "contextWindowExceeded", verdict: "fail", health: "works" } as const;
const lacking = { key: "engineRefused", verdict: "nextTarget", health: "nothing" } as const;
const failing = {
	key: "executionFailed",
	description: "The backend 'lab' failed with HTTP 500",
	verdict: "retry",
	health: "fails",
} as const;
const unpaid = {
	key: "upstreamUnavailable",
	description: "The backend 'lab' has used up its quota or credit",
	verdict: "nextTarget",
	health: "fails",
} as const;

const llama = (code: number, message: string, type: string) =>
	JSON.stringify({ error: { code, message, type } });
const vllm = (code: number, message: string, type: string) =>
	JSON.stringify({ error: { message, type, param: null, code } });

const ROWS: Row[] = [
	// llama.cpp, recorded
	{
		from: "llama.cpp, an image for a text model (recorded)",
		status: 500,
		body: '{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}',
		...refused,
	},
	{
		from: "llama.cpp, sound for a text model (recorded)",
		status: 500,
		body: '{"error":{"code":500,"message":"audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}',
		...refused,
	},
	{
		from: "llama.cpp, an embedding over the physical batch (recorded)",
		status: 500,
		body: '{"error":{"code":500,"message":"input (12000 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}',
		...tooLong,
	},
	{
		from: "llama.cpp, tools without --jinja (recorded)",
		status: 500,
		body: '{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}',
		...refused,
	},
	{
		from: "llama.cpp, a role that is a number (recorded)",
		status: 500,
		body: '{"error":{"code":500,"message":"Failed to parse messages: [json.exception.type_error.302] type must be string, but is number","type":"server_error"}}',
		...refused,
	},
	{
		from: "llama.cpp, a chat server asked for embeddings (recorded)",
		status: 501,
		body: '{"error":{"code":501,"message":"This server does not support embeddings. Start it with `--embeddings`","type":"not_supported_error"}}',
		...lacking,
	},
	{
		from: "llama.cpp, a chat server asked to rank (recorded)",
		status: 501,
		body: '{"error":{"code":501,"message":"This server does not support reranking. Start it with `--reranking`","type":"not_supported_error"}}',
		...lacking,
	},
	{
		from: "llama.cpp, a prompt that is too long (recorded)",
		status: 400,
		body: '{"error":{"code":400,"message":"request (10041 tokens) exceeds the available context size (128 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":10041,"n_ctx":128}}',
		...tooLong,
	},
	{
		from: "llama.cpp, a grammar that is none (recorded)",
		status: 400,
		body: '{"error":{"code":400,"message":"Failed to initialize samplers: failed to parse grammar","type":"invalid_request_error"}}',
		...refused,
	},
	{
		from: "older llama.cpp, media that cannot be decoded",
		status: 500,
		body: llama(500, "Failed to load image or audio file", "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, a schema",
		status: 500,
		body: llama(500, 'JSON schema conversion failed:\nUnrecognized schema: {"type":"x"}', "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, a grammar",
		status: 500,
		body: llama(500, "Failed to initialize samplers: failed to parse grammar", "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, a grammar and tools",
		status: 500,
		body: llama(500, "Cannot use custom grammar constraints with tools.", "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, a prefill for a thinking model",
		status: 500,
		body: llama(500, "Assistant response prefill is incompatible with enable_thinking.", "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, two assistant messages",
		status: 500,
		body: llama(500, "Cannot have 2 or more assistant messages at the end of the list.", "server_error"),
		...refused,
	},
	{
		from: "older llama.cpp, the prompt",
		status: 500,
		body: llama(
			500,
			"Input prompt is too big compared to KV size. Please try increasing KV size.",
			"server_error",
		),
		...tooLong,
	},
	{
		from: "llama.cpp, the context that parallel requests share",
		status: 500,
		body: llama(500, "Context size has been exceeded.", "server_error"),
		key: "outOfCapacity",
		description: "Capacity temporarily exceeded, please try again.",
		verdict: "retry",
		health: "fails",
	},
	// llama.cpp, its own failures
	{
		from: "llama.cpp, what its model wrote cannot be parsed",
		status: 500,
		body: llama(500, "Failed to parse input at pos 12: <tool_call>{", "server_error"),
		...failing,
	},
	{
		from: "llama.cpp, out of memory",
		status: 500,
		body: llama(500, "Compute error.", "server_error"),
		...failing,
	},
	{
		from: "llama.cpp, a template that refuses the roles",
		status: 500,
		body: llama(
			500,
			"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
			"server_error",
		),
		...refused,
	},
	{
		from: "llama.cpp, loading its model",
		status: 503,
		body: llama(503, "Loading model", "unavailable_error"),
		key: "outOfCapacity",
		description: "Capacity temporarily exceeded, please try again.",
		verdict: "retry",
		health: "fails",
	},
	// vLLM
	{
		from: "vLLM, the context",
		status: 400,
		body: vllm(
			400,
			"This model's maximum context length is 4096 tokens. However, you requested 4608 tokens (4096 in the messages, 512 in the completion). Please reduce the length of the messages or completion.",
			"BadRequestError",
		),
		...tooLong,
	},
	{
		from: "vLLM, the context, max_tokens",
		status: 400,
		body: vllm(
			400,
			"'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 12 input tokens (9000 > 8192 - 12).",
			"BadRequestError",
		),
		...tooLong,
	},
	{
		from: "vLLM, the context, as its engine says it",
		status: 400,
		body: JSON.stringify({
			object: "error",
			message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
			type: "BadRequestError",
			param: null,
			code: 400,
		}),
		...tooLong,
	},
	{
		from: "newer vLLM, the context",
		status: 400,
		body: vllm(
			400,
			"You passed 5001 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=5001)",
			"BadRequestError",
		),
		...tooLong,
	},
	{
		from: "vLLM before 0.7, an image for a text model",
		status: 500,
		body: vllm(500, "acme/chat is not a multimodal model", "InternalServerError"),
		...refused,
	},
	{
		from: "vLLM, an image for a text model",
		status: 400,
		body: vllm(400, "At most 0 image(s) may be provided in one request.", "BadRequestError"),
		...refused,
	},
	{
		from: "vLLM, a task that its model has not",
		status: 501,
		body: vllm(501, "The model does not support Embeddings API", "NotImplementedError"),
		...lacking,
	},
	{
		from: "vLLM, its engine is dead",
		status: 500,
		body: vllm(
			500,
			"EngineCore encountered an issue. See stack trace (above) for the root cause.",
			"InternalServerError",
		),
		...failing,
	},
	// SGLang
	{
		from: "SGLang, the context",
		status: 400,
		body: JSON.stringify({
			object: "error",
			message:
				"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5096 tokens: 4096 tokens from the input messages and 1000 tokens for the completion.",
			type: "BadRequestError",
			param: null,
			code: 400,
		}),
		...tooLong,
	},
	{
		from: "SGLang, the input",
		status: 400,
		body: JSON.stringify({
			object: "error",
			message: "The input (6000 tokens) is longer than the model's context length (4096 tokens).",
			type: "BadRequestError",
			param: null,
			code: 400,
		}),
		...tooLong,
	},
	// Text Generation Inference
	{
		from: "TGI, the input",
		status: 422,
		body: '{"error":"Input validation error: `inputs` must have less than 1024 tokens. Given: 2000","error_type":"validation"}',
		...tooLong,
	},
	{
		from: "TGI, input and output",
		status: 422,
		body: '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1000 `inputs` tokens and 2000 `max_new_tokens`","error_type":"validation"}',
		...tooLong,
	},
	{
		from: "TEI, a model that was made for something else",
		status: 424,
		body: '{"error":"model is not a classifier model","error_type":"Backend"}',
		key: "executionFailed",
		description: "The backend 'lab' failed with HTTP 424",
		verdict: "nextTarget",
		health: "nothing",
	},
	// Ollama
	{
		from: "Ollama, tools for a model without them",
		status: 400,
		body: '{"error":"registry.ollama.ai/library/gemma3:latest does not support tools"}',
		...refused,
	},
	{
		from: "Ollama, an image that is none",
		status: 500,
		body: '{"error":"Failed to create new sequence: failed to process inputs: image: unknown format"}',
		...refused,
	},
	{
		from: "Ollama, the context of an embedding",
		status: 400,
		body: '{"error":"the input length exceeds the context length"}',
		...tooLong,
	},
	{
		from: "Ollama, its runner is gone",
		status: 500,
		body: '{"error":"llama runner process has terminated: exit status 2"}',
		...failing,
	},
	// OpenAI and other services
	{
		from: "OpenAI, the context",
		status: 400,
		body: '{"error":{"message":"This model\'s maximum context length is 8192 tokens, however you requested 10000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}',
		...tooLong,
	},
	{
		from: "OpenAI, an account without money",
		status: 429,
		body: '{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}',
		...unpaid,
	},
	{
		from: "Anthropic, an account without money",
		status: 400,
		body: '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}',
		...unpaid,
	},
	{
		from: "Anthropic, the prompt",
		status: 400,
		body: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}',
		...tooLong,
	},
	{
		from: "Gemini, the prompt",
		status: 400,
		body: '{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}',
		...tooLong,
	},
	...[
		["OpenAI's Responses", "Your input exceeds the context window of this model."],
		["MiniMax", "invalid params, context window exceeds limit (2013)"],
		[
			"Mistral",
			"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
		],
		["Fireworks", "The prompt is too long: 40177, model maximum context length: 32767"],
		["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
		["Moonshot", "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"],
		["Alibaba", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"],
		["Z.ai", "Prompt exceeds max length"],
		[
			"Cohere",
			"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.",
		],
		["Bedrock", "Input is too long for requested model."],
		["Ollama, a prompt", "prompt too long; exceeded max context length by 4096 tokens"],
		["LM Studio", "The number of tokens to keep from the initial prompt is greater than the context length."],
	].map(
		([from, message]): Row => ({
			from: `${from}, the context`,
			status: 400,
			body: JSON.stringify({ error: { message, type: "invalid_request_error", code: 400 } }),
			...tooLong,
		}),
	),
	{
		from: "OpenRouter, an account without money",
		status: 402,
		body: '{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/credits","code":402}}',
		...unpaid,
	},
	{
		from: "LM Studio, no model is loaded",
		status: 400,
		body: '{"error":{"message":"No models loaded. Please load a model in the developer page.","type":"invalid_request_error","param":"model","code":"model_not_found"}}',
		key: "noSuchModel",
		description: "No such model @cf/lab/model or task: the backend 'lab' has no model 'engine-model'",
		verdict: "nextTarget",
		health: "works",
	},
	{
		from: "Groq, a request above the account's tokens per minute",
		status: 413,
		body: '{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000","type":"tokens","code":"rate_limit_exceeded"}}',
		key: "requestTooLarge",
		verdict: "nextTarget",
		health: "works",
	},
	// Only a status
	{ from: "anyone, 500", status: 500, body: "", ...failing },
	{
		from: "anyone, 501",
		status: 501,
		body: "",
		key: "executionFailed",
		description: "The backend 'lab' failed with HTTP 501",
		verdict: "nextTarget",
		health: "nothing",
	},
	{
		from: "anyone, 405",
		status: 405,
		body: "",
		key: "executionFailed",
		description: "The backend 'lab' failed with HTTP 405",
		verdict: "nextTarget",
		health: "nothing",
	},
];

const sentence = (body: string): string => {
	const { error, message } = JSON.parse(body);
	return typeof error === "string" ? error : (error?.message ?? message);
};

const HEALTH = new Map<boolean | undefined, Health>([
	[true, "works"],
	[false, "fails"],
	[undefined, "nothing"],
]);

describe("an engine's error", () => {
	it.each(ROWS)("$from: $status is $key", async ({ status, body, key, description, verdict, health }) => {
		const failure = (await failureOf(
			postJson(
				callOf(() => json(body, status)),
				"/route",
				{},
				z.object({}),
			),
		)) as AiError;
		expect({
			key: failure.key,
			description: failure.description,
			verdict: decide(failure),
			health: HEALTH.get(isHealthy(failure)),
		}).toEqual({ key, description: description ?? sentence(body), verdict, health });
	});
});

describe("a refusal by the gateway", () => {
	it("tries the next target at once, and does not count for this engine's circuit", () => {
		const failure = new AiError("engineRefused", "The backend 'lab' gives one answer a request", {
			retryable: true,
		});
		expect([decide(failure), isHealthy(failure)]).toEqual(["nextTarget", undefined]);
	});

	it("does not count for the circuit, and neither does an exception in the gateway", () => {
		expect(isHealthy(new AiError("executionFailed"))).toBeUndefined();
	});
});

describe("a 404 of an address without /v1", () => {
	const missing = '{"error":{"message":"File Not Found","type":"not_found_error","code":404}}';
	const messageFor = async (url: string, body: string, status = 404) => {
		const call = callOf(() => json(body, status), { target: { url } });
		return ((await failureOf(postJson(call, "/route", {}, z.object({})))) as AiError).description;
	};

	it("names the likely mistake", async () => {
		expect(await messageFor("http://engine.test", missing)).toBe(
			"The backend 'lab' has no such address: its url in BACKENDS may lack /v1",
		);
	});

	it("names it for another Ganglion, which answers 400", async () => {
		const message = "AiError: No route for that URI: the address is /v1/chat/completions";
		const noRoute = JSON.stringify({ error: { message, type: "invalid_request_error", code: 7000 } });
		expect(await messageFor("http://engine.test", noRoute, 400)).toBe(
			"The backend 'lab' has no such address: its url in BACKENDS may lack /v1",
		);
	});

	it("does not suspect it if the address has /v1, or the engine lacks the model", async () => {
		const lacks = "No such model @cf/lab/model or task: the backend 'lab' has no model 'engine-model'";
		expect(await messageFor("http://engine.test/v1", missing)).toBe(lacks);
		expect(await messageFor("http://engine.test", '{"error":"The model `x` does not exist."}')).toBe(lacks);
	});
});
