/**
 * Refusals of engines and providers that do not have the model: another target may have it. A caller's own mistake ends the request.
 * The bodies follow the engines' public sources, documentation and issue threads.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { postJson } from "../../../src/backends/transport/http.ts";
import type { AiError } from "../../../src/core/errors.ts";
import { decide, isHealthy } from "../../../src/pipeline/dispatch/retry-policy.ts";
import { callOf, failureOf, json } from "../upstream.ts";

const openai = (message: string, fields: object = {}) =>
	JSON.stringify({ error: { message, type: "invalid_request_error", param: "model", ...fields } });

const ABSENT: [string, number, string][] = [
	[
		"llama.cpp's router",
		400,
		'{"error":{"code":400,"message":"model \'qwen4-8b\' not found","type":"invalid_request_error"}}',
	],
	[
		"llama.cpp's router, an id with a colon",
		400,
		'{"error":{"code":400,"message":"model \'ggml-org/gemma-4-4b-it-GGUF:Q8_0\' not found","type":"invalid_request_error"}}',
	],
	[
		"llama.cpp's router, not loaded",
		400,
		'{"error":{"code":400,"message":"model is not loaded","type":"invalid_request_error"}}',
	],
	[
		"vLLM",
		404,
		'{"error":{"message":"The model `qwen4-8b` does not exist.","type":"NotFoundError","param":"model","code":404}}',
	],
	[
		"older vLLM",
		404,
		'{"object":"error","message":"The model `qwen4-8b` does not exist.","type":"NotFoundError","param":null,"code":404}',
	],
	[
		"vLLM, an adapter",
		400,
		'{"object":"error","message":"The lora adapter \'sql\' cannot be found.","type":"NotFoundError","param":null,"code":400}',
	],
	["Ollama", 404, '{"error":"model \'llama4\' not found"}'],
	["older Ollama", 404, '{"error":"model \\"llama4\\" not found, try pulling it first"}'],
	[
		"Ollama, chat completions",
		404,
		'{"error":{"message":"model \\"llama4\\" not found, try pulling it first","type":"api_error","param":null,"code":null}}',
	],
	["Ollama, 400", 400, '{"error":"model \\"llama4\\" not found, try pulling it first"}'],
	["Text Generation Inference", 404, '{"error":"Model qwen4-8b not found","error_type":"model_not_found"}'],
	[
		"SGLang",
		404,
		'{"object":"error","message":"The model \'qwen4-8b\' does not exist","type":"NotFoundError","param":null,"code":404}',
	],
	[
		"SGLang, 400",
		400,
		'{"object":"error","message":"Model \'qwen4-8b\' not found. Available models: [\'qwen4-32b\']","type":"BadRequestError","param":"model","code":400}',
	],
	[
		"LM Studio",
		404,
		openai('Model "qwen4-8b" not found. Please specify a valid model.', { code: "model_not_found" }),
	],
	[
		"LM Studio, an invalid identifier",
		400,
		openai('Invalid model identifier "qwen4-8b". Please specify a valid downloaded model (e.g. qwen4-32b).', {
			code: "model_not_found",
		}),
	],
	[
		"LocalAI, 404",
		404,
		'{"error":{"code":404,"message":"model \\"qwen4-8b\\" not found. To see available models, call GET /v1/models","type":"invalid_request_error"}}',
	],
	[
		"KoboldCpp",
		404,
		'{"detail":{"error":"Not found","msg":"The requested model was not found","type":"bad_input"}}',
	],
	["TabbyAPI", 400, '{"error":{"message":"Could not find the model qwen4-8b","trace":null}}'],
	["llama-swap", 400, "could not find suitable handler for qwen4-8b"],
	[
		"llama-swap, its newer sentence",
		404,
		'{"error":"could not find real modelID for qwen4-8b","src":"llama-swap"}',
	],
	[
		"MLX",
		404,
		'{"error":"404 Client Error. Repository Not Found for url: https://huggingface.co/api/models/qwen4-8b"}',
	],
	["Triton", 400, '{"error":"Request for unknown model: \'qwen4\' is not found"}'],
	[
		"TensorRT-LLM",
		400,
		'{"object":"error","message":"The model `qwen4-8b` does not exist.","type":"BadRequestError","param":null,"code":400}',
	],
	[
		"OpenAI",
		404,
		openai("The model `gpt-5.6-sol` does not exist or you do not have access to it.", {
			code: "model_not_found",
			param: null,
		}),
	],
	[
		"OpenAI, a project",
		403,
		openai("Project `proj_1` does not have access to model `gpt-5.6-sol`", {
			code: "model_not_found",
			param: null,
		}),
	],
	[
		"OpenAI, Responses",
		400,
		openai("The requested model 'gpt-5.6-sol' does not exist.", { code: "model_not_found" }),
	],
	[
		"OpenAI, a model without chat",
		404,
		openai(
			"This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?",
			{ code: null },
		),
	],
	[
		"OpenAI, an ended model",
		404,
		openai(
			"The model `gpt-4-32k` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
			{ code: "model_not_found", param: null },
		),
	],
	[
		"Azure",
		404,
		'{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}',
	],
	[
		"Azure, a model",
		400,
		'{"error":{"code":"unknown_model","message":"Unknown model: gpt-5.6-sol","details":"Unknown model: gpt-5.6-sol"}}',
	],
	[
		"Azure, unavailable",
		400,
		'{"error":{"code":"unavailable_model","message":"Unavailable model: gpt-5.6-sol","details":"Unavailable model: gpt-5.6-sol"}}',
	],
	["Azure, a resource", 404, '{"error":{"code":"404","message":"Resource not found"}}'],
	[
		"Anthropic",
		404,
		'{"type":"error","error":{"type":"not_found_error","message":"model: claude-opus-5-5"},"request_id":"req_1"}',
	],
	[
		"Anthropic, the end of a model",
		404,
		'{"type":"error","error":{"type":"not_found_error","message":"model: claude-2.1 (retired)"}}',
	],
	[
		"Gemini",
		404,
		'{"error":{"code":404,"message":"models/gemini-3.8-flash is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}',
	],
	[
		"Gemini, a name",
		400,
		'{"error":{"code":400,"message":"* GenerateContentRequest.model: unexpected model name format\\n","status":"INVALID_ARGUMENT"}}',
	],
	[
		"Vertex",
		404,
		'{"error":{"code":404,"message":"Publisher Model `projects/p/locations/us-central1/publishers/google/models/gemini-3.8-flash` was not found or your project does not have access to it.","status":"NOT_FOUND"}}',
	],
	[
		"Vertex, 400",
		400,
		'[{"error":{"code":400,"message":"Publisher Model `gemini-3.8-flash` was not found or your project does not have access to it.","status":"FAILED_PRECONDITION"}}]',
	],
	[
		"Mistral",
		400,
		'{"object":"error","message":"Invalid model: mistral-large-4","type":"invalid_model","param":null,"code":"1500"}',
	],
	[
		"Mistral, its other sentence",
		400,
		'{"object":"error","message":"Invalid model: {\'model\': \'mistral-large-4\'}","type":"invalid_model","param":null,"code":"1500"}',
	],
	[
		"Mistral, no sentence",
		400,
		'{"object":"error","message":"mistral-large-4","type":"invalid_model","param":null,"code":"1500"}',
	],
	[
		"Groq",
		404,
		openai("The model `llama-4-70b` does not exist or you do not have access to it.", {
			code: "model_not_found",
			param: undefined,
		}),
	],
	[
		"Groq, terms",
		400,
		openai(
			"The model `canopylabs/orpheus` requires terms acceptance. Please have the org admin accept the terms",
			{ code: "model_terms_required", param: undefined },
		),
	],
	[
		"Groq, an ended model",
		400,
		openai("The model `llama3-70b-8192` has been decommissioned and is no longer supported.", {
			code: "model_decommissioned",
			param: undefined,
		}),
	],
	[
		"Groq, blocked by the project",
		403,
		'{"error":{"message":"The model `llama-4-70b` is blocked at the project level. Please have a project admin enable this model","type":"permissions_error","code":"model_permission_blocked_project"}}',
	],
	[
		"Together",
		404,
		'{"id":"o1","error":{"message":"Unable to access model qwen/qwen4. Please visit https://api.together.ai/models to view the list of supported models.","type":"invalid_request_error","param":null,"code":"model_not_available"}}',
	],
	[
		"Together, 400",
		400,
		'{"id":"o1","error":{"message":"Unable to access non-serverless model qwen/qwen4. Please visit https://api.together.ai/models/qwen/qwen4 to create and start a new dedicated endpoint for the model.","type":"invalid_request_error","param":null,"code":"model_not_available"}}',
	],
	["OpenRouter", 404, '{"error":{"message":"No endpoints found for qwen/qwen4.","code":404}}'],
	[
		"OpenRouter, data policy",
		404,
		'{"error":{"message":"No endpoints found matching your data policy (Free model publication). Configure: https://openrouter.ai/settings/privacy","code":404}}',
	],
	["OpenRouter, 400", 400, '{"error":{"message":"qwen/qwen4 is not a valid model ID","code":400}}'],
	[
		"OpenRouter, no tools there",
		404,
		'{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}',
	],
	[
		"OpenRouter, providers",
		404,
		'{"error":{"message":"No allowed providers are available for the selected model.","code":404}}',
	],
	[
		"Fireworks",
		404,
		'{"error":{"object":"error","type":"invalid_request_error","code":"NOT_FOUND","message":"Model not found, inaccessible, and/or not deployed"}}',
	],
	[
		"Fireworks, 400",
		400,
		'{"error":{"object":"error","type":"invalid_request_error","message":"Model not found, inaccessible, and/or not deployed"}}',
	],
	["DeepSeek", 400, openai("Model Not Exist", { param: null, code: "invalid_request_error" })],
	["DeepInfra", 404, '{"detail":{"error":"Model is not available"}}'],
	[
		"DeepInfra, chat completions",
		404,
		'{"error":{"message":"The model `qwen/qwen4` does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}',
	],
	[
		"Cerebras",
		404,
		'{"message":"Model qwen-4 does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"}',
	],
	[
		"Cohere",
		404,
		'{"id":"1","message":"model \'command-z\' not found, make sure the correct model ID was used and that you have access to the model."}',
	],
	[
		"Cohere, an ended model",
		404,
		'{"message":"model \'command\' was removed on September 15, 2025. See https://docs.cohere.com/docs/models"}',
	],
	[
		"xAI",
		404,
		'{"code":"Some requested entity was not found","error":"The model grok-5 does not exist or your team 1 does not have access to it."}',
	],
	["xAI, 400", 400, '{"code":"Client specified an invalid argument","error":"Model not found: grok-5"}'],
	[
		"Perplexity",
		400,
		openai(
			"Invalid model 'sonar-9'. Permitted models can be found in the documentation at https://docs.perplexity.ai/getting-started/models.",
			{ type: "invalid_model", code: 400 },
		),
	],
	[
		"Moonshot",
		404,
		'{"error":{"message":"Not found the model kimi-k3 or Permission denied","type":"resource_not_found_error"}}',
	],
	[
		"Alibaba",
		404,
		openai("The model `qwen4-max` does not exist or you do not have access to it.", {
			code: "model_not_found",
			param: null,
		}),
	],
	["Alibaba, 400", 400, '{"code":"ModelNotFound","message":"Model can not be found.","request_id":"1"}'],
	["Zhipu", 400, '{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}'],
	[
		"MiniMax",
		200,
		'{"base_resp":{"status_code":2013,"status_msg":"invalid params, unknown model \'abab9\'"}}',
	],
	[
		"Volcengine",
		404,
		'{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"The model or endpoint doubao-9 does not exist or you do not have access to it.","param":"","type":"NotFound"}}',
	],
	[
		"Volcengine, not opened",
		404,
		'{"error":{"code":"ModelNotOpen","message":"Your account 1 has not activated the model doubao-9. Please activate the model service in the Ark Console.","type":"NotFound"}}',
	],
	[
		"SiliconFlow",
		400,
		'{"code":20012,"message":"Model does not exist. Please check it carefully.","data":null}',
	],
	[
		"NVIDIA",
		404,
		'{"status":404,"title":"Not Found","detail":"Function \'1\': Not found for account \'2\'"}',
	],
	["NVIDIA, chat completions", 404, "404 page not found"],
	[
		"Hugging Face's router",
		400,
		openai("The requested model 'qwen/qwen4' is not supported by any provider you have enabled.", {
			code: "model_not_supported",
		}),
	],
	[
		"Hugging Face's router, an unknown id",
		400,
		openai("The requested model 'qwen/qwen4' does not exist", { code: "model_not_found" }),
	],
	[
		"Hugging Face's router, not a chat model",
		400,
		openai("The requested model 'qwen/qwen4' is not a chat model", { code: "model_not_supported" }),
	],
	["Bedrock", 400, '{"message":"The provided model identifier is invalid."}'],
	[
		"Bedrock, a profile",
		400,
		'{"message":"Invocation of model ID anthropic.claude-opus-5-5 with on-demand throughput isn\\u2019t supported. Retry your request with the ID or ARN of an inference profile that contains this model."}',
	],
	["Bedrock, access", 403, '{"message":"You don\'t have access to the model with the specified model ID."}'],
	[
		"Bedrock, an ended model",
		404,
		'{"message":"This model version has reached the end of its life. Please refer to the AWS documentation for more details."}',
	],
	[
		"Bedrock, a region",
		404,
		'{"message":"Could not resolve the foundation model from the provided model identifier."}',
	],
	[
		"GitHub Models",
		400,
		'{"error":{"code":"unknown_model","message":"Unknown model: openai/gpt-9","details":"Unknown model: openai/gpt-9"}}',
	],
	[
		"Sambanova",
		404,
		'{"error":{"code":null,"message":"Model not found","param":null,"type":"invalid_request_error"}}',
	],
	["Nebius", 404, '{"detail":"The model `qwen/qwen4` does not exist."}'],
	["Baseten", 404, '{"error":"Model not found."}'],
	[
		"Replicate",
		404,
		'{"title":"Not found","detail":"The requested resource could not be found.","status":404}',
	],
	[
		"LiteLLM",
		400,
		'{"error":{"message":"{\'error\': \'/chat/completions: Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.\'}","type":"None","param":"None","code":"400"}}',
	],
	[
		"LiteLLM, a group",
		400,
		'{"error":{"message":"litellm.BadRequestError: You passed in model=gpt-9. There are no healthy deployments for this model. Received Model Group=gpt-9","type":null,"param":null,"code":"400"}}',
	],
	[
		"LiteLLM, a key",
		401,
		'{"error":{"message":"key not allowed to access model. This key can only access models=[\'gpt-4\']. Tried to access gpt-9","type":"key_model_access_denied","param":"model","code":"401"}}',
	],
	[
		"Cloudflare",
		400,
		'{"result":null,"success":false,"errors":[{"code":5007,"message":"No such model @cf/meta/llama-9 or task"}],"messages":[]}',
	],
	[
		"Cloudflare, Unified API",
		400,
		'{"success":false,"result":[],"messages":[],"error":[{"code":2008,"message":"Invalid model name"}]}',
	],
	[
		"Vercel's gateway",
		404,
		'{"error":{"message":"Model \'openai/gpt-9\' not found","type":"model_not_found"}}',
	],
	[
		"Portkey",
		412,
		'{"error":{"message":"Model gpt-9 is not allowed for this integration","type":"model_not_allowed"}}',
	],
	["TEI", 404, '{"error":"Model `bge` not found","error_type":"validation"}'],
	[
		"Infinity",
		400,
		'{"error":{"message":"ModelNotDeployedError: model=`bge` not found","type":null,"param":null,"code":400}}',
	],
	[
		"Infinity, its sentence",
		400,
		'{"error":{"message":"model `bge` not deployed here","type":null,"param":null,"code":400}}',
	],
	[
		"Xinference",
		400,
		'{"detail":"[address=127.0.0.1:9997, pid=1] Model not found in the model list, uid: qwen4-8b"}',
	],
	["GPUStack", 404, '{"code":404,"reason":"NotFound","message":"Model not found"}'],
];

const OWN: [string, number, string][] = [
	[
		"OpenAI, a parameter",
		400,
		openai(
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			{ param: "max_tokens", code: "unsupported_parameter" },
		),
	],
	[
		"OpenAI, a value",
		400,
		openai(
			"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
			{ param: "temperature", code: "unsupported_value" },
		),
	],
	["OpenAI, a file", 400, openai("Invalid file: 'model.pdf' not found", { param: "file", code: null })],
	["OpenAI, a missing model", 400, openai("you must provide a model parameter", { param: null, code: null })],
	[
		"OpenAI, a tool",
		400,
		openai("Invalid value for 'tool_choice': the tool 'model' was not found in 'tools'.", {
			param: "tool_choice",
			code: null,
		}),
	],
	[
		"OpenAI, a previous response",
		400,
		openai("Previous response with id 'resp_1' not found.", {
			param: "previous_response_id",
			code: "previous_response_not_found",
		}),
	],
	[
		"OpenAI, a call without its result",
		400,
		openai(
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The model does not know whether call_1 does not exist.",
			{ param: "messages", code: null },
		),
	],
	[
		"vLLM, tools",
		400,
		'{"object":"error","message":"\\"auto\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}',
	],
	[
		"vLLM, an image",
		400,
		'{"object":"error","message":"At most 0 image(s) may be provided in one prompt. Model qwen4-8b: the file cat.png was not found","type":"BadRequestError","param":null,"code":400}',
	],
	[
		"llama.cpp, a field",
		400,
		'{"error":{"code":400,"message":"\\"messages\\" is required","type":"invalid_request_error"}}',
	],
	[
		"llama.cpp, a slot",
		400,
		'{"error":{"code":400,"message":"Invalid slot ID","type":"invalid_request_error"}}',
	],
	["Ollama, tools", 400, '{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}'],
	[
		"Anthropic, a field",
		400,
		'{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens for claude-opus-5-5"}}',
	],
	[
		"Anthropic, a prefill",
		400,
		'{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support assistant message prefill. The conversation must end with a user message."}}',
	],
	[
		"Gemini, a field",
		400,
		'{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \\"modelx\\": Cannot find field.","status":"INVALID_ARGUMENT"}}',
	],
	[
		"Gemini, roles",
		400,
		'{"error":{"code":400,"message":"Please use a valid role: user, model.","status":"INVALID_ARGUMENT"}}',
	],
	[
		"Mistral, roles",
		400,
		'{"object":"error","message":"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant","type":"invalid_request_message_order","param":null,"code":"3230"}',
	],
	[
		"Groq, a call of the model",
		400,
		openai(
			"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
			{ code: "tool_use_failed", param: undefined },
		),
	],
	[
		"a user who writes about models",
		400,
		openai("Invalid message content: 'which model is not found in the box'", {
			param: "messages",
			code: null,
		}),
	],
	["a field named after a model", 400, openai("Unknown model parameter 'foo'", { param: "foo", code: null })],
	[
		"a bad output setting",
		400,
		openai("Invalid model_kwargs: temperature", { param: "model_kwargs", code: null }),
	],
];

const failureFor = async (status: number, body: string) =>
	(await failureOf(
		postJson(
			callOf(() => json(body, status)),
			"/route",
			{},
			z.object({ choices: z.array(z.unknown()) }),
		),
	)) as AiError;

describe("an engine without the model", () => {
	it.each(ABSENT)(
		"%s, %i: another target is called, and no circuit counts it",
		async (_from, status, body) => {
			const failure = await failureFor(status, body);
			expect([failure.key, decide(failure), isHealthy(failure)]).toEqual(["noSuchModel", "nextTarget", true]);
		},
	);
});

describe("a caller's own mistake", () => {
	it.each(OWN)("%s, %i: ends the request", async (_from, status, body) => {
		const failure = await failureFor(status, body);
		expect([failure.key, decide(failure)]).toEqual(["engineRefused", "fail"]);
	});
});
