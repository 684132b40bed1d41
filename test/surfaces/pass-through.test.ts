/** Which streams of a route with `passthrough` pass unchanged, and which are translated. */
import { describe, expect, it } from "vitest";
import { DONE, delta, finish, testGateway, upstream, usage } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const GPT_OSS = "@cf/openai/gpt-oss-20b";
const STREAM = [delta("Hel"), delta("lo"), finish(), usage(), DONE];
const VARS = {
	BACKENDS: {
		a: { kind: "openai", url: "http://a/v1" },
		b: { kind: "openai", url: "http://b/v1" },
	},
	ROUTES: { "*": { targets: [{ backend: "a" }], passthrough: true } },
};
const messages = [{ role: "user", content: "Hi" }];

/** A stream of bytes, like a body from the network. The runtime cannot pipe a stream made from text in the same Worker. */
const events = (...frames: string[]): Response => {
	const body = new ReadableStream({
		type: "bytes",
		start(controller) {
			for (const frame of frames) controller.enqueue(new TextEncoder().encode(frame));
			controller.close();
		},
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

async function streamed(path: string, body: object): Promise<string> {
	const { fetch } = upstream(() => events(...STREAM));
	const response = await testGateway({ vars: VARS, fetch }).post(path, { stream: true, ...body });
	expect(response.status).toBe(200);
	return response.text();
}

const tool = { type: "function", function: { name: "look_up", parameters: { type: "object" } } };

describe("a route with passthrough", () => {
	it.each([
		["without usage", {}],
		["with usage", { stream_options: { include_usage: true } }],
		["with tools", { tools: [tool] }],
		["in JSON", { response_format: { type: "json_object" } }],
	])("passes streams unchanged on OpenAI's chat route: %s", async (_, extra) => {
		const text = await streamed("/v1/chat/completions", { model: LLAMA, messages, ...extra });
		expect(text).toBe(STREAM.join(""));
	});

	it("passes streams of gpt-oss unchanged, unless its text must be searched for tool calls", async () => {
		const path = "/v1/chat/completions";
		const offered = { model: GPT_OSS, messages, tools: [tool] };
		expect(await streamed(path, offered)).toBe(STREAM.join(""));
		const mended = await streamed(path, { ...offered, tool_choice: "required" });
		expect(mended).toContain(`"model":"${GPT_OSS}"`);
		expect(mended).not.toContain('"prompt_tokens"');
	});

	it("translates streams for callers who send `functions`", async () => {
		const functions = [{ name: "look_up", parameters: { type: "object" } }];
		const text = await streamed("/v1/chat/completions", { model: LLAMA, messages, functions });
		expect(text).toContain(`"model":"${LLAMA}"`);
		expect(text).not.toContain('"prompt_tokens"');
	});

	it("translates streams for other dialects", async () => {
		const native = await streamed(`/run/${LLAMA}`, { messages });
		expect(native).toContain('data: {"response":"Hel"');
		const created = await streamed("/v1/responses", { model: LLAMA, input: "Hi" });
		expect(created).toContain("event: response.created");
		const message = await streamed("/v1/messages", { model: LLAMA, messages, max_tokens: 9 });
		expect(message).toContain("event: message_start");
		const completed = await streamed("/v1/completions", { model: LLAMA, prompt: "Hi" });
		expect(completed).toContain('"object":"text_completion"');
	});

	it("translates a complete answer to a request for a stream", async () => {
		const complete = {
			id: "c",
			object: "chat.completion",
			created: 1,
			model: "engine-model",
			choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
		};
		const { fetch } = upstream(() => Response.json(complete));
		const response = await testGateway({ vars: VARS, fetch }).post("/v1/chat/completions", {
			model: LLAMA,
			messages,
			stream: true,
		});
		const text = await response.text();
		expect(text).toContain(`"model":"${LLAMA}"`);
		expect(text.endsWith(DONE)).toBe(true);
	});

	it("records the failure of an engine that interrupts its streams", async () => {
		const targets = [{ backend: "a" }, { backend: "b" }];
		const vars = { ...VARS, ROUTES: { "*": { targets, passthrough: true } } };
		const { fetch, requests } = upstream(({ url }) =>
			url.startsWith("http://a/") ? events(delta("Hel")) : events(...STREAM),
		);
		const { post } = testGateway({ vars, fetch });
		const send = async () =>
			(await post("/v1/chat/completions", { model: LLAMA, messages, stream: true })).text();
		for (let turn = 0; turn < 20 && !(await send()).endsWith(DONE); turn++);
		expect(requests.at(-1)?.url).toContain("http://b/");
	});
});
