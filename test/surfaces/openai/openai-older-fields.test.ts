import { describe, expect, it } from "vitest";
import { completion, DONE, delta, ENGINE_VARS, events, testGateway, upstream } from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const BODY = { model: LLAMA, messages: [{ role: "user", content: "Hi" }] };
const LOOK = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const TOOL_CALL = { id: "a", type: "function", function: { name: "look", arguments: '{"at":1}' } };

function engine(reply: () => Response) {
	const { fetch, requests } = upstream(reply);
	const vars = { ...ENGINE_VARS, ROUTES: { "*": [{ backend: "engine", model: "m" }] } };
	return { requests, ...testGateway({ vars, fetch }) };
}

const chunk = (choice: object) =>
	`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;

describe("functions and function_call", () => {
	const called = () => {
		const answer = completion("");
		return Response.json({
			...answer,
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: null, tool_calls: [TOOL_CALL] },
					finish_reason: "tool_calls",
				},
			],
		});
	};

	it("reach the engine as tools, and the call comes back in the older form", async () => {
		const { post, requests } = engine(called);
		const response = await post("/v1/chat/completions", {
			...BODY,
			functions: [LOOK],
			function_call: { name: "look" },
		});
		const sent = await requests[0]?.json();
		expect(sent).toMatchObject({
			tools: [{ type: "function", function: LOOK }],
			tool_choice: { type: "function", function: { name: "look" } },
			parallel_tool_calls: false,
		});
		expect(sent).not.toHaveProperty("functions");
		expect(sent).not.toHaveProperty("function_call");
		const { choices } = await response.json<{ choices: { message: object }[] }>();
		expect(choices[0]).toMatchObject({
			message: { role: "assistant", content: null, function_call: TOOL_CALL.function },
			finish_reason: "function_call",
		});
		expect(choices[0]?.message).not.toHaveProperty("tool_calls");
	});

	it("have the older form in a stream, which ends once", async () => {
		const { post } = engine(() =>
			events(
				chunk({ delta: { role: "assistant", content: null } }),
				chunk({
					delta: {
						tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "look", arguments: "" } }],
					},
				}),
				chunk({ delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } }),
				chunk({ delta: {}, finish_reason: "tool_calls" }),
				DONE,
			),
		);
		const response = await post("/v1/chat/completions", { ...BODY, functions: [LOOK], stream: true });
		const text = await response.text();
		expect(text).not.toContain("tool_calls");
		expect(text).toContain('"function_call":{"name":"look","arguments":""}');
		expect(text).toContain('"function_call":{"arguments":"{}"}');
		expect(text).toContain('"finish_reason":"function_call"');
		expect(text.match(/\[DONE\]/g)).toHaveLength(1);
	});

	it("end an interrupted stream with one error", async () => {
		const { post } = engine(() => events(delta("Hel")));
		const response = await post("/v1/chat/completions", { ...BODY, functions: [LOOK], stream: true });
		const text = await response.text();
		expect(text.match(/"error":/g)).toHaveLength(1);
		expect(text).not.toContain("[DONE]");
	});

	it("are refused beside tools", async () => {
		const { post } = engine(called);
		const tools = [{ type: "function", function: LOOK }];
		const response = await post("/v1/chat/completions", { ...BODY, functions: [LOOK], tools });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			error: { param: "functions", message: expect.stringContaining("send either functions or tools") },
		});
	});
});

describe("fields of engines", () => {
	it("are passed on, and guided_json is a response format", async () => {
		const { post, requests } = engine(() => Response.json(completion('{"a":1}')));
		const schema = { type: "object", properties: { a: { type: "number" } } };
		const engineFields = { verbosity: "low", prompt_cache_key: "k", safety_identifier: "s" };
		await post("/v1/chat/completions", { ...BODY, ...engineFields, guided_json: schema });
		expect(await requests[0]?.json()).toMatchObject({
			...engineFields,
			response_format: { type: "json_schema", json_schema: { schema } },
		});
	});
});

describe("audio in an answer", () => {
	const AUDIO = { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } };

	it("is refused if the engine returns none", async () => {
		const { post } = testGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const response = await post("/v1/chat/completions", { ...BODY, ...AUDIO });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 8001 }],
			error: { param: "modalities", message: expect.stringContaining("(simulator) does not generate audio") },
		});
		const text = await post("/v1/chat/completions", { ...BODY, modalities: ["text"] });
		expect(text.status).toBe(200);
	});

	it("is returned unchanged, complete and streamed", async () => {
		const audio = { id: "audio_1", data: "UklGRg==", expires_at: 1, transcript: "Hello" };
		const message = { role: "assistant", content: null, audio };
		const complete = engine(() =>
			Response.json({ ...completion(""), choices: [{ index: 0, message, finish_reason: "stop" }] }),
		);
		const response = await complete.post("/v1/chat/completions", { ...BODY, ...AUDIO });
		expect(await complete.requests[0]?.json()).toMatchObject(AUDIO);
		expect(await response.json()).toMatchObject({ choices: [{ message: { content: null, audio } }] });
		const streamed = engine(() =>
			events(
				chunk({ delta: { role: "assistant", audio } }),
				chunk({ delta: {}, finish_reason: "stop" }),
				DONE,
			),
		);
		const stream = await streamed.post("/v1/chat/completions", { ...BODY, ...AUDIO, stream: true });
		expect(await stream.text()).toContain('"audio":{"id":"audio_1","data":"UklGRg=="');
	});
});

describe("top_logprobs", () => {
	it("is refused without logprobs, which its answer would need", async () => {
		const { post, requests } = engine(() => Response.json(completion("Hi")));
		for (const logprobs of [undefined, false]) {
			const response = await post("/v1/chat/completions", { ...BODY, top_logprobs: 3, logprobs });
			expect(response.status).toBe(400);
			expect(await response.json()).toMatchObject({
				errors: [{ code: 8001 }],
				error: { param: "top_logprobs" },
			});
		}
		expect(requests).toEqual([]);
		expect((await post("/v1/chat/completions", { ...BODY, top_logprobs: 3, logprobs: true })).status).toBe(
			200,
		);
		expect((await post("/v1/chat/completions", { ...BODY, top_logprobs: 0 })).status).toBe(200);
	});
});
