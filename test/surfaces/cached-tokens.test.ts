/** The cached tokens that an engine reports, on each surface, in values and in streams. */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const usage = {
	prompt_tokens: 100,
	completion_tokens: 2,
	total_tokens: 102,
	prompt_tokens_details: { cached_tokens: 64 },
};
const choice = { index: 0, finish_reason: "stop" };
const frame = (value: object): string =>
	`data: ${JSON.stringify({ object: "chat.completion.chunk", ...value })}\n\n`;
const STREAM = [
	frame({
		choices: [
			{ ...choice, finish_reason: null, delta: { role: "assistant", content: "Hello." }, text: "Hello." },
		],
	}),
	frame({ choices: [{ ...choice, delta: {}, text: "" }] }),
	frame({ choices: [], usage }),
	"data: [DONE]\n\n",
].join("");

const engine = upstream(async (request) => {
	const { stream } = await request.clone().json<{ stream?: boolean }>();
	if (stream) return new Response(STREAM, { headers: { "content-type": "text/event-stream" } });
	return Response.json({
		choices: [{ ...choice, message: { role: "assistant", content: "Hello." }, text: "Hello." }],
		usage,
	});
});
const vars = {
	BACKENDS: { engine: { kind: "openai", pool: { replicas: ["http://gpu-1/v1", "http://gpu-2/v1"] } } },
	ROUTES: { [MODEL]: [{ backend: "engine" }], "pool/chat": [{ backend: "engine" }] },
	MODELS: { "pool/chat": { task: "Text Generation" } },
};
const { app } = testGateway({ vars, fetch: engine.fetch });

const messages = [{ role: "user", content: "Hi" }];
const streamed = { stream: true, stream_options: { include_usage: true } };
const OPENAI = '"prompt_tokens_details":{"cached_tokens":64}';

describe("cached tokens", () => {
	it.each([
		["chat completions", "/ai/v1/chat/completions", { model: "pool/chat", messages }, OPENAI],
		[
			"a stream of chat completions",
			"/ai/v1/chat/completions",
			{ model: "pool/chat", messages, ...streamed },
			OPENAI,
		],
		["completions", "/ai/v1/completions", { model: "pool/chat", prompt: "Hi" }, OPENAI],
		[
			"a stream of completions",
			"/ai/v1/completions",
			{ model: "pool/chat", prompt: "Hi", ...streamed },
			OPENAI,
		],
		["native inputs", `/ai/run/${MODEL}`, { prompt: "Hi" }, OPENAI],
		["a native stream", `/ai/run/${MODEL}`, { prompt: "Hi", stream: true }, OPENAI],
		[
			"responses",
			"/ai/v1/responses",
			{ model: "pool/chat", input: "Hi" },
			'"input_tokens_details":{"cached_tokens":64}',
		],
		[
			"a stream of responses",
			"/ai/v1/responses",
			{ model: "pool/chat", input: "Hi", stream: true },
			'"input_tokens_details":{"cached_tokens":64}',
		],
		[
			"messages",
			"/ai/v1/messages",
			{ model: "pool/chat", max_tokens: 9, messages },
			'"cache_read_input_tokens":64',
		],
		[
			"a stream of messages",
			"/ai/v1/messages",
			{ model: "pool/chat", max_tokens: 9, messages, stream: true },
			'"cache_read_input_tokens":64',
		],
		[
			"Gemini's API",
			"/ai/v1beta/models/pool/chat:generateContent",
			{ contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
			'"cachedContentTokenCount":64',
		],
		[
			"a stream of Gemini's API",
			"/ai/v1beta/models/pool/chat:streamGenerateContent?alt=sse",
			{ contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
			'"cachedContentTokenCount":64',
		],
	])("are in the answer of %s", async (_, path, body, expected) => {
		const response = await app.request(`http://gateway/client/v4/accounts/local${path}`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		expect(await response.text()).toContain(expected);
	});
});
