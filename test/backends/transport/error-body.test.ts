/** The errors of hosts in the forms that public reports quote: class, sentence and wait. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { postJson } from "../../../src/backends/transport/http.ts";
import type { AiError } from "../../../src/core/errors.ts";
import { decide } from "../../../src/pipeline/dispatch/retry-policy.ts";
import { callOf, failureOf } from "../upstream.ts";

const errorFor = async (status: number, body: unknown, headers: HeadersInit = {}): Promise<AiError> => {
	const text = typeof body === "string" ? body : JSON.stringify(body);
	const call = callOf(() => new Response(text, { status, headers }));
	return (await failureOf(
		postJson(call, "/chat/completions", {}, z.object({ choices: z.array(z.unknown()) })),
	)) as AiError;
};

const OVERFLOW = "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens";
const CAPACITY = "Capacity temporarily exceeded, please try again.";
const NO_MODEL = "No such model @cf/lab/model or task: the backend 'lab' has no model 'engine-model'";

describe("an error", () => {
	it.each([
		[
			"OpenRouter, the provider's error as text",
			400,
			{
				error: {
					message: "Provider returned error",
					code: 400,
					metadata: {
						raw: JSON.stringify({ error: { message: OVERFLOW, type: "invalid_request_error" } }),
						provider_name: "DeepInfra",
					},
				},
				user_id: "user_1",
			},
			"contextWindowExceeded",
			OVERFLOW,
		],
		[
			"OpenRouter, the provider's error as an object",
			400,
			{
				error: {
					message: "Provider returned error",
					code: 400,
					metadata: { raw: { detail: "temperature must be below 2" } },
				},
			},
			"engineRefused",
			"temperature must be below 2",
		],
		[
			"OpenRouter, plain text",
			400,
			{
				error: { message: "Provider returned error", code: 400, metadata: { raw: "The image is too small" } },
			},
			"engineRefused",
			"The image is too small",
		],
		[
			"OpenRouter, moderation",
			403,
			{ error: { code: 403, message: "Your chosen model requires moderation and your input was flagged" } },
			"refusedByModel",
			"Your chosen model requires moderation and your input was flagged",
		],
		[
			"OpenRouter, no provider",
			404,
			{ error: { message: "No endpoints found for meta/llama-9.", code: 404 } },
			"noSuchModel",
			NO_MODEL,
		],
		[
			"LiteLLM, JSON in the message",
			400,
			{
				error: {
					message: `litellm.BadRequestError: OpenAIException - {"error":{"message":"${OVERFLOW}","type":"BadRequestError"}}`,
					type: null,
					code: "400",
				},
			},
			"contextWindowExceeded",
			OVERFLOW,
		],
		[
			"plain text",
			400,
			"Only one system message is allowed",
			"engineRefused",
			"Only one system message is allowed",
		],
		[
			"plain text, too long",
			413,
			"Input is too long for requested model.",
			"contextWindowExceeded",
			"Input is too long for requested model.",
		],
		["plain text, busy", 503, "no healthy upstream", "outOfCapacity", CAPACITY],
		[
			"HTML",
			502,
			"<html><head><title>502 Bad Gateway</title></head></html>",
			"executionFailed",
			"The backend 'lab' failed with HTTP 502",
		],
		[
			"HTML, refused",
			400,
			"<!DOCTYPE html><p>Secret page</p>",
			"engineRefused",
			"The backend 'lab' refused the request",
		],
		[
			"an event",
			400,
			`event: error\ndata: {"error":{"message":"${OVERFLOW}"}}\n\n`,
			"contextWindowExceeded",
			OVERFLOW,
		],
		[
			"an event without a name",
			422,
			'data: {"detail":"stop: too many"}\n\n',
			"engineRefused",
			"stop: too many",
		],
		[
			"FastAPI",
			422,
			{ detail: [{ type: "missing", loc: ["body", "messages"], msg: "Field required" }, { msg: "Extra" }] },
			"engineRefused",
			"Field required; Extra",
		],
		[
			"FastAPI, an object",
			400,
			{ detail: { error: "lora_not_found", message: "No adapter acme" } },
			"engineRefused",
			"No adapter acme",
		],
		["{message}", 400, { message: "top_k must be positive" }, "engineRefused", "top_k must be positive"],
		[
			"{error, error_type}",
			429,
			{ error: "Model is overloaded", error_type: "overloaded" },
			"outOfCapacity",
			CAPACITY,
		],
		[
			"Cloudflare",
			400,
			{ success: false, errors: [{ code: 5006, message: "bad field" }], result: null },
			"engineRefused",
			"bad field",
		],
		[
			"Google, a list",
			400,
			[{ error: { code: 400, message: "Unknown name 'store'", status: "INVALID_ARGUMENT" } }],
			"engineRefused",
			"Unknown name 'store'",
		],
		[
			"Azure, its filter",
			400,
			{
				error: {
					message: "The response was filtered",
					code: "content_filter",
					status: 400,
					innererror: { code: "ResponsibleAIPolicyViolation" },
				},
			},
			"refusedByModel",
			"The response was filtered",
		],
		[
			"Azure, the deployment",
			404,
			{
				error: {
					code: "DeploymentNotFound",
					message: "The API deployment for this resource does not exist.",
				},
			},
			"noSuchModel",
			NO_MODEL,
		],
		[
			"llama.cpp's router",
			400,
			{ error: { code: 400, message: "model 'qwen3-9b' not found", type: "invalid_request_error" } },
			"noSuchModel",
			NO_MODEL,
		],
		[
			"Ollama",
			404,
			{ error: { message: 'model "qwen3:9b" not found, try pulling it first', type: "api_error" } },
			"noSuchModel",
			NO_MODEL,
		],
		[
			"vLLM",
			404,
			{
				object: "error",
				message: "The model `llama-9` does not exist.",
				type: "NotFoundError",
				param: null,
				code: 404,
			},
			"noSuchModel",
			NO_MODEL,
		],
		[
			"SGLang, with 400",
			400,
			{ object: "error", message: "Model not found: llama-9", type: "BadRequestError", code: 400 },
			"noSuchModel",
			NO_MODEL,
		],
		[
			"DeepSeek, with 400",
			400,
			{ error: { message: "Model Not Exist", type: "invalid_request_error" } },
			"noSuchModel",
			NO_MODEL,
		],
		[
			"Alibaba",
			400,
			{
				error: {
					code: "Arrearage",
					message: "Access denied, please make sure your account is in good standing.",
				},
			},
			"upstreamUnavailable",
			"The backend 'lab' has used up its quota or credit",
		],
		[
			"Alibaba, its filter",
			400,
			{ error: { code: "data_inspection_failed", message: "Input data may contain inappropriate content." } },
			"refusedByModel",
			"Input data may contain inappropriate content.",
		],
		[
			"an overloaded engine, as 500",
			500,
			{
				error: {
					message: "The engine is currently overloaded, please try again later",
					type: "engine_overloaded_error",
				},
			},
			"outOfCapacity",
			CAPACITY,
		],
		[
			"MiniMax, 200",
			200,
			{ choices: null, base_resp: { status_code: 1008, status_msg: "insufficient balance" } },
			"upstreamUnavailable",
			"The backend 'lab' has used up its quota or credit",
		],
		["Zhipu, 200", 200, { code: 1302, msg: "Too many requests", success: false }, "outOfCapacity", CAPACITY],
		[
			"200, an error of text",
			200,
			{ error: "invalid api key" },
			"executionFailed",
			"The backend 'lab' failed with HTTP 500",
		],
	])("of %s", async (_, status, body, key, description) => {
		const error = await errorFor(status, body);
		expect({ key: error.key, description: error.description }).toEqual({ key, description });
	});

	it("about the model lets the next target try", async () => {
		const error = await errorFor(400, { error: { message: "model 'qwen3-9b' not found" } });
		expect(decide(error)).toBe("nextTarget");
	});
});

describe("the time to wait", () => {
	const LIMITED = { error: { message: "Rate limit reached" } };
	const rateLimit = (message: string) => ({
		error: { message, type: "tokens", code: "rate_limit_exceeded" },
	});
	const RETRY_INFO = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };

	it.each([
		["seconds in a header", LIMITED, { "retry-after": "7" }, 7],
		["milliseconds in a header", LIMITED, { "retry-after-ms": "1200" }, 2],
		[
			"Google's RetryInfo",
			[
				{
					error: {
						code: 429,
						status: "RESOURCE_EXHAUSTED",
						message: "Quota",
						details: [{ "@type": "x" }, RETRY_INFO],
					},
				},
			],
			{},
			35,
		],
		[
			"OpenAI's sentence",
			rateLimit("Rate limit reached for gpt-5.6-sol in organization org-1. Please try again in 20s."),
			{},
			20,
		],
		["milliseconds in a sentence", rateLimit("Please try again in 120ms."), {}, 1],
		[
			"Groq's sentence",
			rateLimit("Limit 6000, Used 5900. Please try again in 1m26.4s. Visit the console."),
			{},
			87,
		],
		["words", rateLimit("Please retry after 6 seconds."), {}, 6],
		["minutes", rateLimit("Try again in 2 minutes"), {}, 120],
		["a header before the sentence", rateLimit("Please try again in 20s."), { "retry-after": "3" }, 3],
		[
			"the provider's sentence inside OpenRouter's error",
			{
				error: {
					message: "Provider returned error",
					code: 429,
					metadata: { raw: "acme is temporarily rate-limited. Please retry in 9s" },
				},
			},
			{},
			9,
		],
		["no time", LIMITED, {}, undefined],
	])("is read from %s", async (_, body, headers, seconds) => {
		const error = await errorFor(429, body, headers as unknown as HeadersInit);
		expect({ key: error.key, retryAfter: error.retryAfter }).toEqual({
			key: "outOfCapacity",
			retryAfter: seconds,
		});
	});
});
