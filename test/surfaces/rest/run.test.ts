import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import {
	BASE,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";
import { closedGateway } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const UUID = /^[0-9a-f-]{36}$/;

const engine = (reply: () => Response | Promise<Response>) => {
	const { fetch, requests } = upstream(reply);
	return { requests, ...testGateway({ vars: ENGINE_VARS, fetch }) };
};

describe("POST /ai/run/{model}", () => {
	it("answers in the v4 envelope, to the byte", async () => {
		const { post } = engine(() => Response.json(completion("Hello")));
		const response = await post(`/run/${LLAMA}`, { prompt: "Hi" });
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(response.headers.get("cf-ai-req-id")).toMatch(UUID);
		expect(response.headers.get("x-ganglion-backend")).toBe("engine");
		expect(response.headers.get("x-ganglion-model")).toBe("engine-model");
		expect(response.headers.get("x-ganglion-attempts")).toBe("1");
		expect(response.headers.get("cf-ai-neurons")).toBe("0.09");
		expect(await response.text()).toBe(
			'{"result":{"response":"Hello","tool_calls":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"neurons":0.09}},"success":true,"errors":[],"messages":[]}',
		);
	});

	it("names the weights behind the model if the route does", async () => {
		const weights = "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF@abc123; sibling";
		const vars = { ...ENGINE_VARS, ROUTES: { "*": [{ backend: "engine", model: "engine-model", weights }] } };
		const { fetch } = upstream(() => Response.json(completion("Hello")));
		const { get, post } = testGateway({ vars, fetch });
		const whole = await post(`/run/${LLAMA}`, { prompt: "Hi" });
		expect(whole.headers.get("x-ganglion-weights")).toBe(weights);
		expect(await (await get(`/v1/models/${LLAMA}`)).json()).toMatchObject({ id: LLAMA, weights });
		const other = await engine(() => Response.json(completion("Hello"))).post(`/run/${LLAMA}`, {
			prompt: "Hi",
		});
		expect(other.headers.has("x-ganglion-weights")).toBe(false);
	});

	it("sends the engine the model's defaults and the route's model", async () => {
		const { post, requests } = engine(() => Response.json(completion("Hello")));
		await post(`/run/${LLAMA}`, { prompt: "Hi", top_k: 5 });
		expect(requests[0]?.url).toBe("http://engine/v1/chat/completions");
		expect(requests[0]?.headers.get("authorization")).toBe("Bearer sk-engine-secret");
		expect(await requests[0]?.json()).toMatchObject({
			model: "engine-model",
			messages: [{ role: "user", content: "Hi" }],
			max_tokens: 256,
			temperature: 0.6,
			top_k: 5,
		});
	});

	it("accepts the id with encoded slashes, as the official SDK sends it", async () => {
		const { post } = engine(() => Response.json(completion("Hello")));
		const response = await post("/run/@cf%2Fmeta%2Fllama-3.1-8b-instruct-fp8", { prompt: "Hi" });
		expect(await response.json()).toMatchObject({ result: { response: "Hello" } });
	});

	it("accepts JSON with the content type of a form, as curl sends it", async () => {
		const { app } = engine(() => Response.json(completion("Hello")));
		const response = await app.request(`${BASE}/run/${LLAMA}`, {
			method: "POST",
			body: '{"prompt":"Hi"}',
			headers: { "content-type": "application/x-www-form-urlencoded" },
		});
		expect(response.status).toBe(200);
	});

	it("removes the gateway's options from the inputs", async () => {
		const { post } = testGateway();
		const response = await post("/run/@cf/black-forest-labs/flux-1-schnell", {
			prompt: "a fox",
			options: { rejectIfBusy: true },
		});
		expect(response.status).toBe(200);
	});

	it.each([
		["a model's own route", `/run/${LLAMA}`, { prompt: "Hi" }],
		["the route with the model in the body", "/run", { model: LLAMA, input: { prompt: "Hi" } }],
		["the chat route", "/v1/chat/completions", { model: LLAMA, messages: [{ role: "user", content: "Hi" }] }],
	])("refuses immediately if every engine is busy and rejectIfBusy is set: %s", async (_, path, inputs) => {
		const { post, requests } = engine(() => new Response(null, { status: 503 }));
		const options = { rejectIfBusy: true };
		const response = await post(path, { ...inputs, options });
		expect(response.status).toBe(429);
		expect(await response.json()).toMatchObject({
			errors: [
				{ code: 3040, message: expect.stringContaining("Capacity temporarily exceeded, please try again.") },
			],
		});
		expect(requests).toHaveLength(1);
		await post(path, inputs);
		expect(requests).toHaveLength(3);
	});

	it("refuses a model whose name cannot be sent to an engine, before any call", async () => {
		const { post, requests } = engine(() => Response.json(completion("Hello")));
		const response = await post("/v1/chat/completions", {
			model: "acme/\ud800",
			messages: [{ role: "user", content: "Hi" }],
			stream: true,
		});
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ errors: [{ code: 5007 }] });
		expect(requests).toHaveLength(0);
	});

	it("streams native frames unchanged, then usage, then [DONE]", async () => {
		const { post } = engine(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		const response = await post(`/run/${LLAMA}`, { prompt: "Hi", stream: true });
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(response.headers.get("cf-ai-req-id")).toMatch(UUID);
		const frames = (await response.text()).split("\n\n").filter(Boolean);
		expect(frames.at(-1)).toBe("data: [DONE]");
		const bodies = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice("data: ".length)));
		expect(bodies.map(({ response: text }) => text).join("")).toBe("Hello");
		expect(bodies.at(-1)).toEqual({
			response: "",
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, neurons: 0.09 },
		});
	});

	it("streams chat chunks and the native usage frame for OpenAI-shaped models", async () => {
		const { post } = engine(() => events(delta("Hi"), finish(), usage(), DONE));
		const text = await (
			await post(`/run/${KIMI}`, { messages: [{ role: "user", content: "Hi" }], stream: true })
		).text();
		const frames = text.split("\n\n").filter(Boolean);
		expect(frames.slice(-2)).toEqual([
			'data: {"response":"","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"neurons":0.98}}',
			"data: [DONE]",
		]);
		expect(JSON.parse(frames[0]?.slice(6) ?? "")).toMatchObject({
			object: "chat.completion.chunk",
			model: KIMI,
			choices: [{ delta: { content: "Hi" } }],
		});
	});

	it("sends a token to the caller before the engine sends the next", async () => {
		const live = liveEvents();
		const { post } = engine(() => live.response);
		live.send(delta("first"));
		const response = await post(`/run/${LLAMA}`, { prompt: "Hi", stream: true });
		const reader = response.body?.getReader();
		expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"response":"first"');
		await reader?.cancel();
	});

	it("ends an interrupted stream with one error frame and no [DONE]", async () => {
		const { post } = engine(() => events(delta("Hel")));
		const text = await (await post(`/run/${LLAMA}`, { prompt: "Hi", stream: true })).text();
		const frames = text.split("\n\n").filter(Boolean);
		expect(frames).toHaveLength(2);
		expect(JSON.parse(frames[1]?.slice(6) ?? "")).toMatchObject({ error: { code: 5001 } });
		expect(text).not.toContain("[DONE]");
	});

	it("cancels the engine's call when the caller disconnects", async () => {
		const live = liveEvents();
		const { post } = engine(() => live.response);
		live.send(delta("Hel"));
		const response = await post(`/run/${LLAMA}`, { prompt: "Hi", stream: true });
		const reader = response.body?.getReader();
		await reader?.read();
		await reader?.cancel("left");
		await live.cancelled;
	});

	it("aborts the engine's call when the request is aborted", async () => {
		let signal: AbortSignal | undefined;
		const { app } = testGateway({
			vars: ENGINE_VARS,
			fetch: (_, init) => {
				signal = init?.signal ?? undefined;
				return new Promise((_, reject) => {
					signal?.addEventListener("abort", () => reject(signal?.reason));
				});
			},
		});
		const leaving = new AbortController();
		const pending = app.request(
			new Request(`${BASE}/run/${LLAMA}`, {
				method: "POST",
				body: '{"prompt":"Hi"}',
				headers: { "content-type": "application/json" },
				signal: leaving.signal,
			}),
		);
		while (!signal) await new Promise((resolve) => setTimeout(resolve));
		leaving.abort();
		const response = await pending;
		expect(signal.aborted).toBe(true);
		expect(response.status).toBe(408);
		expect(await response.json()).toMatchObject({ errors: [{ code: 3008 }] });
	});

	it("returns raw bytes for audio and images", async () => {
		const { post } = testGateway();
		const speech = await post("/run/@cf/deepgram/aura-1", { text: "Hello there." });
		expect(speech.headers.get("content-type")).toBe("audio/mpeg");
		expect((await speech.arrayBuffer()).byteLength).toBeGreaterThan(1000);
		const image = await post("/run/@cf/stabilityai/stable-diffusion-xl-base-1.0", {
			prompt: "a fox",
			width: 256,
			height: 256,
		});
		expect(image.headers.get("content-type")).toBe("image/png");
		expect([...new Uint8Array(await image.arrayBuffer()).slice(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
	});

	it("accepts an audio file as the body", async () => {
		const { app, post } = testGateway();
		const speech = await (await post("/run/@cf/deepgram/aura-1", { text: "Good morning." })).arrayBuffer();
		for (const model of ["@cf/openai/whisper", "@cf/deepgram/nova-3"])
			for (const type of ["audio/mpeg", "application/octet-stream"]) {
				const response = await app.request(`${BASE}/run/${model}`, {
					method: "POST",
					body: speech,
					headers: { "content-type": type },
				});
				expect(JSON.stringify(await response.json()), `${model} ${type}`).toContain("Good morning.");
			}
	});

	it("accepts a form for FLUX.2, with or without its boundary", async () => {
		const { app } = testGateway();
		const form = new FormData();
		form.set("prompt", "a fox");
		form.set("width", "256");
		form.set("height", "256");
		const serialised = new Response(form);
		const contentType = serialised.headers.get("content-type") ?? "";
		const bytes = await serialised.arrayBuffer();
		for (const type of [contentType, "multipart/form-data"]) {
			const response = await app.request(`${BASE}/run/@cf/black-forest-labs/flux-2-klein-4b`, {
				method: "POST",
				body: bytes,
				headers: { "content-type": type },
			});
			expect(await response.json(), type).toMatchObject({
				success: true,
				result: { image: expect.any(String) },
			});
		}
	});
});

describe("failures over REST", () => {
	const failing = async (path: string, body: unknown, reply?: () => Response) => {
		const gateway = reply ? engine(reply) : testGateway();
		const response = await gateway.post(path, body);
		return {
			status: response.status,
			id: response.headers.get("cf-ai-req-id"),
			text: await response.text(),
			response,
		};
	};

	it("has the inference layer's envelope: errors first, an empty result, the request id", async () => {
		const { id, status, text } = await failing("/run/@cf/meta/no-such-model", { prompt: "Hi" });
		expect(status).toBe(400);
		expect(text).toBe(
			`{"errors":[{"message":"AiError: No such model: No such model @cf/meta/no-such-model or task (${id})","code":5007}],"success":false,"result":{},"messages":[]}`,
		);
	});

	it("has the product's message for a schema mismatch, without an id", async () => {
		const { status, text } = await failing(`/run/${LLAMA}`, { messages: "Hi" });
		expect(status).toBe(400);
		expect(JSON.parse(text)).toEqual({
			errors: [
				{
					code: 5006,
					message:
						"AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', Type mismatch of '/messages', 'array' not in 'string'",
				},
			],
			success: false,
			result: {},
			messages: [],
		});
	});

	it("refuses a deprecated model with 410 unless it has a route", async () => {
		const id = "@cf/meta/llama-2-7b-chat-int8";
		const { status, text } = await failing(`/run/${id}`, { prompt: "Hi" });
		expect(status).toBe(410);
		expect(text).toContain(
			`AiError: Model has been deprecated: ${id} was deprecated on 2026-05-30. See the model catalog for alternatives`,
		);
		expect(
			(await failing(`/run/${id}`, { prompt: "Hi" }, () => Response.json(completion("Hi")))).status,
		).toBe(200);
	});

	it("refuses the asynchronous queue for other inputs, and on the universal route", async () => {
		for (const [path, body] of [
			[`/run/${LLAMA}?queueRequest=true`, { prompt: "Hi" }],
			["/run?queueRequest=true", { model: LLAMA, input: { prompt: "Hi" } }],
			["/run", { model: LLAMA, input: { requests: "Hi" } }],
		] as const)
			expect((await failing(path, body)).text).toMatch(/asynchronous queue.*"code":8001/);
	});

	it("refuses another value of queueRequest than true or false", async () => {
		for (const path of [`/run/${LLAMA}`, "/run"]) {
			const { status, text } = await failing(`${path}?queueRequest=yes`, { model: LLAMA, prompt: "Hi" });
			expect(status).toBe(400);
			expect(text).toContain("enum value not in true,false at '/queueRequest'");
		}
	});

	it.each([
		{ background: true },
		{ background: true, webhookUrl: "https://hook.example" },
		{ webhookUrl: "https://hook.example" },
		{ background: false, webhookFormat: "chat" },
	])("refuses a request in the background: %j", async (options) => {
		for (const input of [{ prompt: "Hi" }, { requests: [{ prompt: "Hi" }] }]) {
			const { status, text } = await failing("/run", { model: LLAMA, input, options });
			expect(status).toBe(400);
			expect(text).toMatch(/options\.background, options\.webhookUrl\) are not available.*"code":8001/);
		}
	});

	it("runs a request whose options have no background", async () => {
		const body = { model: LLAMA, input: { prompt: "Hi" }, options: { background: false } };
		expect((await failing("/run", body, () => Response.json(completion("Hi")))).status).toBe(200);
	});

	it("has the edge's envelope for unknown routes: a null result and no id", async () => {
		const { id, status, text } = await failing("/run/openai/gpt-unknown", { prompt: "Hi" });
		expect(status).toBe(400);
		expect(id).toBeNull();
		expect(text).toBe(
			'{"result":null,"success":false,"errors":[{"code":7000,"message":"No route for that URI"}],"messages":[]}',
		);
	});

	it.each([
		["llama-3.1-8b-instruct-fp8", `no model llama-3.1-8b-instruct-fp8; did you mean "${LLAMA}"?`],
		["meta/llama-3.1-8b-instruct-fp8", `did you mean "${LLAMA}"?`],
		[`/${LLAMA}`, `no model /${LLAMA}; did you mean "${LLAMA}"?`],
		["chat/completions", "the address is /client/v4/accounts/local/ai/v1/chat/completions"],
		["v1/messages", "the address is /client/v4/accounts/local/ai/v1/messages"],
		["chat/completion", "the address is /client/v4/accounts/local/ai/v1/chat/completions"],
	])("has the name or the address that is meant by %s", async (name, meant) => {
		const { status, text } = await failing(`/run/${name}`, { prompt: "Hi" });
		expect(status).toBe(400);
		const [error] = JSON.parse(text).errors;
		expect(error).toMatchObject({ code: 7000, message: expect.stringContaining(meant) });
	});

	it("answers another method with 7001", async () => {
		const response = await testGateway().get(`/run/${LLAMA}`);
		expect(response.status).toBe(405);
		expect(await response.json()).toMatchObject({
			result: null,
			errors: [{ code: 7001, message: "GET not supported for requested URI." }],
		});
	});

	it.each([
		[
			"a full engine",
			() => new Response("busy", { status: 429, headers: { "retry-after": "7" } }),
			429,
			3040,
			"7",
		],
		["an engine that refuses our key", () => new Response("no", { status: 401 }), 502, 7009, null],
		["an engine without the model", () => new Response("no", { status: 404 }), 400, 5007, null],
		["a broken engine", () => new Response("oops", { status: 500 }), 500, 5001, null],
		["an engine that talks HTML", () => new Response("<html>"), 502, 5001, null],
		[
			"an engine that refuses the input",
			() => Response.json({ error: { message: "too odd" } }, { status: 400 }),
			400,
			8007,
			null,
		],
	])("maps %s", async (_, reply, status, code, retryAfter) => {
		const { response, text, status: got } = await failing(`/run/${LLAMA}`, { prompt: "Hi" }, reply);
		expect(got).toBe(status);
		expect(JSON.parse(text)).toMatchObject({ success: false, result: {}, errors: [{ code }] });
		expect(response.headers.get("retry-after")).toBe(retryAfter);
		expect(text).not.toContain("sk-engine-secret");
	});

	it("tries the next target only after a failure that another target may not have", async () => {
		const vars = {
			BACKENDS: {
				first: { kind: "openai", url: "http://first/v1" },
				second: { kind: "openai", url: "http://second/v1" },
			},
			ROUTES: { "*": [{ backend: "first" }, { backend: "second" }] },
		};
		for (const [status, answered] of [
			[503, "second"],
			[429, "second"],
			[404, "second"],
			[400, "first"],
		] as const) {
			const { fetch } = upstream((request) =>
				request.url.startsWith("http://first")
					? new Response("no", { status })
					: Response.json(completion("Hi")),
			);
			const response = await testGateway({ vars, fetch }).post(`/run/${LLAMA}`, { prompt: "Hi" });
			expect(response.headers.get("x-ganglion-backend"), String(status)).toBe(answered);
		}
	});

	it("refuses a prompt beyond the context window before any call", async () => {
		const { requests, post } = engine(() => Response.json(completion("Hi")));
		const response = await post(`/run/${LLAMA}`, { prompt: "word ".repeat(200_000) });
		expect(response.status).toBe(413);
		expect(await response.json()).toMatchObject({ errors: [{ code: 5021 }] });
		expect(requests).toHaveLength(0);
	});
});

describe("POST /ai/run", () => {
	it("reads the model from the body", async () => {
		const { post } = testGateway();
		const response = await post("/run", { model: LLAMA, input: { prompt: "Hello" } });
		expect(await response.json()).toMatchObject({ success: true, result: { response: expect.any(String) } });
		expect(await (await post("/run", {})).json()).toMatchObject({
			errors: [
				{ code: 5006, message: "AiError: Bad input: Error: required properties at '/' are 'model,input'" },
			],
		});
	});
});

describe("the catalogue over REST", () => {
	it("pages until an empty page", async () => {
		const { get } = testGateway();
		const names: string[] = [];
		for (let page = 1; ; page++) {
			const { result } = (await (await get(`/models/search?page=${page}&per_page=50`)).json()) as {
				result: { name: string }[];
			};
			if (result.length === 0) break;
			names.push(...result.map(({ name }) => name));
		}
		expect(names).toContain(LLAMA);
		expect(new Set(names).size).toBe(names.length);
	});

	it("returns a JSON Schema for every model", async () => {
		const { get, services } = testGateway();
		for (const { id } of services.catalog.all) {
			const response = await get(`/models/schema?model=${encodeURIComponent(id)}`);
			const { result } = (await response.json()) as { result: { input: object; output: object } };
			expect(Object.keys(result.input).length, id).toBeGreaterThan(1);
			expect(Object.keys(result.output).length, id).toBeGreaterThan(0);
		}
	});

	it("suggests a model if that of the schema is unknown", async () => {
		const response = await testGateway().get("/models/schema?model=@cf/openai/whispr");
		expect(await response.json()).toMatchObject({
			errors: [{ code: 5007, message: expect.stringContaining('did you mean "@cf/openai/whisper"?') }],
		});
	});

	it("lists tasks and authors", async () => {
		const { get } = testGateway();
		expect(await (await get("/tasks/search")).json()).toMatchObject({
			success: true,
			result: expect.arrayContaining([
				expect.objectContaining({ id: "c329a1f9-323d-4e91-b2aa-582dd4188d34", name: "Text Generation" }),
			]),
		});
		expect(await (await get("/authors/search")).json()).toMatchObject({ success: true });
	});
});

describe("/ai/run/proxy, the wire protocol of the binding over REST", () => {
	const WIRE = "https://workers-binding.ai";
	const forward = (url: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
		engine(() => Response.json(completion("Hello"))).app.request(`${BASE}/run/proxy`, {
			...init,
			headers: { ...init.headers, "x-forwarded": url },
		});

	it("answers like the binding: without the envelope, and exactly application/json", async () => {
		const response = await forward(`${WIRE}/run?version=3`, {
			method: "POST",
			headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
			body: JSON.stringify({ inputs: { prompt: "Hi" }, options: {} }),
		});
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(response.headers.get("x-ganglion-backend")).toBe("engine");
		expect(await response.text()).toBe(
			'{"response":"Hello","tool_calls":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"neurons":0.09}}',
		);
	});

	it("has the binding's errors", async () => {
		const response = await forward(`${WIRE}/run?version=3`, {
			method: "POST",
			headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
			body: JSON.stringify({ inputs: { prompt: 1 } }),
		});
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ internalCode: 5006, name: "AiError", httpCode: 400 });
	});

	it("keeps the method, the path and the query", async () => {
		const response = await forward(`${WIRE}/ai-api/models/search?per_page=2`);
		expect(await response.json()).toMatchObject({ success: true, result: [{}, {}] });
		expect((await forward(`${WIRE}/ai-api/models/search`, { method: "PUT" })).status).toBe(405);
	});

	it("is not a route of a model, and forwards to no other host", async () => {
		const { app } = testGateway();
		const missing = await app.request(`${BASE}/run/proxy`, { method: "POST", body: "{}" });
		expect(await missing.json()).toMatchObject({ errors: [{ code: 3003 }] });
		for (const url of [
			"https://api.cloudflare.com/run",
			"workers-binding.ai/run",
			"https://x.workers-binding.ai/",
		])
			expect(await (await forward(url)).json(), url).toMatchObject({ errors: [{ code: 7000 }] });
	});

	it.each([
		["Workers AI Run", "/ai-api/models/search", 403],
		["Workers AI Run", "/to-everything/markdown/supported", 403],
		["Workers AI Metadata Read", "/ai-api/models/search", 200],
		["Workers AI Metadata Read", "/to-everything/markdown/supported", 200],
		["Workers AI Metadata Read", "/run?version=3", 403],
		["Workers AI Metadata Read", "/unknown", 403],
	])("requires the permission of the operation: %s, %s, %i", async (group, path, status) => {
		const { send, createToken } = closedGateway();
		const response = await send("/ai/run/proxy", await createToken([group]), {
			method: path.startsWith("/run") ? "POST" : "GET",
			headers: { "x-forwarded": `${WIRE}${path}` },
		});
		expect(response.status).toBe(status);
	});

	it("verifies the caller first", async () => {
		const { services } = testGateway();
		const response = await createApp(services, { allowAnonymous: false }).request(`${BASE}/run/proxy`, {
			headers: { "x-forwarded": `${WIRE}/ai-api/models/search` },
		});
		expect(response.status).toBe(401);
		expect(await response.json()).toMatchObject({ errors: [{ code: 10000 }] });
	});
});

describe("options", () => {
	const { post } = testGateway();
	it.each([
		["the inputs", (tags: unknown) => post(`/run/${LLAMA}`, { prompt: "Hi", options: { tags } })],
		[
			"the field `input`",
			(tags: unknown) => post("/run", { model: LLAMA, input: { prompt: "Hi" }, options: { tags } }),
		],
	])("accept up to five tags of 50 characters, and count duplicates once: beside %s", async (_, run) => {
		expect((await run(["a", "b", "c:d", "e/f", "g@h.i", "a"])).status).toBe(200);
		for (const [tags, finding] of [
			[["a", "b", "c", "d", "e", "f"], "maxItems at '/options/tags' is 5, got 6"],
			[["a".repeat(51)], "Length of '/options/tags/0' must be <= 50"],
			[["a b"], "'/options/tags/0' failed test ^[A-Za-z0-9:\\-./@]*$ pattern"],
			["a", "Type mismatch of '/options/tags', 'array' not in 'string'"],
		] as const) {
			const refused = await run(tags);
			expect(refused.status).toBe(400);
			expect(await refused.json()).toMatchObject({
				errors: [{ code: 5006, message: `AiError: Bad input: Error: ${finding}` }],
			});
		}
	});
});

it("reads the options of nova-3 from the query, with audio as the body", async () => {
	const { app } = testGateway();
	const send = (query: string) =>
		app.request(`${BASE}/run/@cf/deepgram/nova-3?${query}`, {
			method: "POST",
			body: new Uint8Array(3200),
			headers: { "content-type": "audio/L16;rate=16000" },
		});
	expect(
		(await send("language=de&punctuate=true&keyterm=Bern&keyterm=Aare&channels=1&version=3")).status,
	).toBe(200);
	const refused = await send("mode=legal");
	expect(refused.status).toBe(400);
	expect(await refused.json()).toMatchObject({
		errors: [
			{
				code: 5006,
				message: "AiError: Bad input: Error: enum value not in general,medical,finance at '/mode'",
			},
		],
	});
});
