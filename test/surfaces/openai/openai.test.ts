import { describe, expect, it } from "vitest";
import {
	BASE,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	firstDelta,
	liveEvents,
	NOW,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "Hi" }];

const engine = (reply: () => Response, model = LLAMA) => {
	const { fetch, requests } = upstream(reply);
	const vars = { ...ENGINE_VARS, ROUTES: { "*": [{ backend: "engine", model }] } };
	return { requests, ...testGateway({ vars, fetch }) };
};
/** The same frames, as an engine that calls the model by the catalogue's id sends them. */
const own = (frame: string): string => frame.replaceAll("engine-model", LLAMA);

describe("POST /ai/v1/chat/completions", () => {
	it("returns a completion without the envelope, with the catalogue's id", async () => {
		const { post } = engine(() => Response.json(completion("Hello")));
		const response = await post("/v1/chat/completions", { model: LLAMA, messages: MESSAGES });
		expect(response.headers.get("cf-ai-req-id")).toBeTruthy();
		expect(await response.json()).toMatchObject({
			object: "chat.completion",
			model: LLAMA,
			choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
	});

	it("passes a stream unchanged, except for the usage", async () => {
		const frames = [firstDelta("Hel"), delta("lo"), finish(), usage(), DONE].map(own);
		const { post } = engine(() => events(...frames));
		const response = await post("/v1/chat/completions", {
			model: LLAMA,
			messages: MESSAGES,
			stream: true,
			stream_options: { include_usage: true },
		});
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(await response.text()).toBe(
			frames.join("").replace('"total_tokens":5', '"total_tokens":5,"neurons":0.48'),
		);
	});

	it("requests usage from the engine, and omits its chunk if the caller did not request it", async () => {
		const frames = [firstDelta("Hi"), finish(), usage(), DONE].map(own);
		const { post, requests } = engine(() => events(...frames));
		const response = await post("/v1/chat/completions", { model: LLAMA, messages: MESSAGES, stream: true });
		expect(await response.text()).toBe([firstDelta("Hi"), finish(), DONE].map(own).join(""));
		expect(await requests[0]?.json()).toMatchObject({ stream_options: { include_usage: true } });
	});

	it("ends an interrupted stream with one error that the SDK throws, and no [DONE]", async () => {
		const { post } = engine(() => events(own(delta("Hel"))));
		const response = await post("/v1/chat/completions", { model: LLAMA, messages: MESSAGES, stream: true });
		const text = await response.text();
		expect(text).not.toContain("[DONE]");
		expect(text.match(/"error":/g)).toHaveLength(1);
	});

	it("cancels the engine's call when the caller disconnects", async () => {
		const live = liveEvents();
		const { post } = engine(() => live.response);
		live.send(own(delta("Hel")));
		const response = await post("/v1/chat/completions", { model: LLAMA, messages: MESSAGES, stream: true });
		const reader = response.body?.getReader();
		await reader?.read();
		await reader?.cancel();
		await live.cancelled;
	});

	it("returns failures in the v4 envelope, as the product does", async () => {
		const { post } = testGateway();
		const missing = await post("/v1/chat/completions", { messages: MESSAGES });
		expect(await missing.json()).toMatchObject({
			success: false,
			result: {},
			errors: [{ code: 5006, message: "AiError: Bad input: Error: required properties at '/' are 'model'" }],
		});
		const wrongTask = await post("/v1/chat/completions", { model: "@cf/baai/bge-m3", messages: MESSAGES });
		expect(await wrongTask.json()).toMatchObject({
			errors: [{ code: 5007, message: expect.stringContaining("or task: its task is Text Embeddings") }],
		});
	});
});

describe("the request's id", () => {
	const { get, post } = testGateway();
	const ids = async (path: string, body: object) => {
		const { headers } = await post(path, body);
		const id = headers.get("cf-ai-req-id");
		return ["x-request-id", "request-id"].map((name) => headers.get(name) && headers.get(name) === id);
	};

	it.each([
		["an answer", "/v1/chat/completions", { model: LLAMA, messages: MESSAGES }],
		["a stream", "/v1/chat/completions", { model: LLAMA, messages: MESSAGES, stream: true }],
		["a failure", "/v1/responses", { model: LLAMA }],
		["a failure of the envelope", "/v1/embeddings", { model: LLAMA, input: "a" }],
	])("is where OpenAI's SDK reads it: %s", async (_, path, body) => {
		expect(await ids(path, body)).toEqual([true, null]);
	});

	it.each([
		["an answer", { model: LLAMA, messages: MESSAGES, max_tokens: 9 }],
		["a failure", { model: LLAMA }],
	])("is where Anthropic's SDK reads it: %s", async (_, body) => {
		expect(await ids("/v1/messages", body)).toEqual([null, true]);
	});

	it("is absent for a request that reaches no engine", async () => {
		expect((await get("/v1/models")).headers.get("x-request-id")).toBeNull();
	});
});

describe("the other OpenAI routes", () => {
	it("completions", async () => {
		const response = await testGateway().post("/v1/completions", {
			model: LLAMA,
			prompt: "Once upon a time",
		});
		expect(await response.json()).toMatchObject({
			object: "text_completion",
			model: LLAMA,
			choices: [{ index: 0, text: expect.any(String) }],
		});
	});

	it("embeddings, as floats and as base64 of the same floats", async () => {
		const { post } = testGateway();
		const body = { model: "@cf/baai/bge-small-en-v1.5", input: ["a", "b"] };
		const floats = (await (await post("/v1/embeddings", body)).json()) as { data: { embedding: number[] }[] };
		expect(floats.data[1]?.embedding).toHaveLength(384);
		const packed = (await (await post("/v1/embeddings", { ...body, encoding_format: "base64" })).json()) as {
			data: { embedding: string }[];
		};
		const bytes = Uint8Array.from(atob(packed.data[1]?.embedding ?? ""), (c) => c.charCodeAt(0));
		expect([...new Float32Array(bytes.buffer)]).toEqual(floats.data[1]?.embedding.map(Math.fround));
	});

	it("embeddings, in the engine's own digits, here and on the native route", async () => {
		// The model's vectors have 384 numbers.
		const others = Array.from({ length: 382 }, () => 0);
		const written = `,${others.join(",")}`;
		const { fetch } = upstream(
			() =>
				new Response(
					`{"data":[{"embedding":[0.10,-1e-3${written}]},{"embedding":[2.0,3${written}]}],"usage":{"prompt_tokens":1,"total_tokens":1}}`,
				),
		);
		const bge = "@cf/baai/bge-small-en-v1.5";
		const { post } = testGateway({
			vars: { ...ENGINE_VARS, ROUTES: { [bge]: [{ backend: "engine" }] } },
			fetch,
		});
		const usage = { prompt_tokens: 1, total_tokens: 1 };
		const here = await post("/v1/embeddings", { model: bge, input: ["a", "b"] });
		expect(await here.text()).toContain(
			`"data":[{"object":"embedding","index":0,"embedding":[0.10,-1e-3${written}]},{"object":"embedding","index":1,"embedding":[2.0,3${written}]}]`,
		);
		const native = await post(`/run/${bge}`, { text: ["a", "b"] });
		expect(await native.clone().text()).toContain(`"data":[[0.10,-1e-3${written}],[2.0,3${written}]],`);
		expect(await native.json()).toEqual({
			result: {
				shape: [2, 384],
				data: [
					[0.1, -0.001, ...others],
					[2, 3, ...others],
				],
				pooling: "mean",
				usage,
			},
			success: true,
			errors: [],
			messages: [],
		});
	});

	it("embeddings of a model that is only in a route", async () => {
		const { fetch, requests } = upstream(() =>
			Response.json({
				data: [{ index: 0, embedding: [0.5, 0.25] }],
				usage: { prompt_tokens: 1, total_tokens: 1 },
			}),
		);
		const vars = { ...ENGINE_VARS, ROUTES: { "nomic-*": [{ backend: "engine" }] } };
		const { post } = testGateway({ vars, fetch });
		const response = await post("/v1/embeddings", { model: "nomic-embed-text", input: "a" });
		expect(await response.json()).toMatchObject({
			model: "nomic-embed-text",
			data: [{ embedding: [0.5, 0.25] }],
		});
		expect(await requests[0]?.json()).toMatchObject({ model: "nomic-embed-text" });
	});

	it("responses, and their own failure format", async () => {
		const { post } = testGateway();
		const answer = await post("/v1/responses", { model: LLAMA, input: "Hi" });
		expect(await answer.json()).toMatchObject({
			object: "response",
			status: "completed",
			created_at: NOW / 1000,
			output: [{ type: "message", content: [{ type: "output_text", text: expect.any(String) }] }],
		});
		const refused = await post("/v1/responses", { model: "@cf/a/b", input: "Hi" });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toEqual({
			error: {
				code: "invalid_prompt",
				message: expect.stringMatching(/^AiError: No such model: /),
				type: "invalid_request_error",
				param: "model",
			},
		});
	});

	it.each([false, true])("report which tools were dropped (stream: %s)", async (stream) => {
		const { post } = engine(() =>
			stream ? events(...[delta("Hi"), finish(), usage(), DONE].map(own)) : Response.json(completion("Hi")),
		);
		const body = { model: LLAMA, input: "Hi", stream };
		const tools = [{ type: "web_search" }, { type: "file_search" }, { type: "web_search" }];
		const answer = await post("/v1/responses", { ...body, tools });
		expect(answer.headers.get("x-ganglion-dropped")).toBe("tools.web_search, tools.file_search");
		await answer.body?.cancel();
		const plain = await post("/v1/responses", body);
		expect(plain.headers.get("x-ganglion-dropped")).toBeNull();
		await plain.body?.cancel();
	});

	it("images, speech and transcription", async () => {
		const { app, post } = testGateway();
		const image = await post("/v1/images/generations", {
			model: "@cf/black-forest-labs/flux-1-schnell",
			prompt: "a fox",
		});
		expect(await image.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
		const speech = await post("/v1/audio/speech", {
			model: "@cf/deepgram/aura-2-en",
			input: "Good morning.",
			voice: "luna",
		});
		expect(speech.headers.get("content-type")).toBe("audio/mpeg");
		const form = new FormData();
		form.set("file", new File([await speech.arrayBuffer()], "speech.mp3", { type: "audio/mpeg" }));
		form.set("model", "@cf/openai/whisper-large-v3-turbo");
		const transcription = await app.request(`${BASE}/v1/audio/transcriptions`, {
			method: "POST",
			body: form,
		});
		expect(await transcription.json()).toMatchObject({ text: "Good morning." });
	});

	it("does not list models that have ended", async () => {
		const { get, post } = testGateway();
		const { data } = (await (await get("/v1/models")).json()) as { data: { id: string }[] };
		expect(data.map(({ id }) => id)).not.toContain("@cf/meta/llama-2-7b-chat-int8");
		for (const { id } of data.filter((_, i) => i % 10 === 0))
			expect((await post(`/run/${id}`, {})).status, id).not.toBe(410);
	});

	it("lists only the models that this gateway serves", async () => {
		const everything = (await (await testGateway().get("/v1/models")).json()) as { data: { id: string }[] };
		expect(everything.data.length).toBeGreaterThan(60);
		const vars = { ...ENGINE_VARS, ROUTES: { "llama3.2": [{ backend: "engine" }] } };
		const { get } = testGateway({ vars });
		expect(await (await get("/v1/models")).json()).toEqual({
			object: "list",
			data: [
				{
					id: "llama3.2",
					object: "model",
					created: expect.any(Number),
					owned_by: expect.any(String),
					task: "Text Generation",
					capabilities: ["function_calling", "json_mode", "streaming"],
				},
			],
		});
		expect(await (await get("/v1/models/llama3.2")).json()).toMatchObject({
			id: "llama3.2",
			object: "model",
		});
		const unknown = await get("/v1/models/@cf/meta/nothing");
		expect(unknown.status).toBe(404);
		expect(await unknown.json()).toMatchObject({ error: { code: "model_not_found" } });
		expect(await (await get("/v1/models/")).json()).toMatchObject({ object: "list" });
	});
});
