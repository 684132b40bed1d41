/** The routes of Gemini's API: bytes, streams, credentials, refusals. */
import { describe, expect, it } from "vitest";
import { BASE, DONE, delta, events, finish, testGateway, upstream, usage } from "../../gateway.ts";
import { ADMIN, closedGateway, json, UNAUTHENTICATED } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const CONTENTS = [{ role: "user", parts: [{ text: "My name is Alice. What is my name?" }] }];
const BODY = { contents: CONTENTS };
const MODEL = `/v1beta/models/${LLAMA}`;
const EMBEDDER = "/v1beta/models/@cf/baai/bge-m3";

const engine = (reply: () => Response) =>
	testGateway({
		vars: {
			BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
			ROUTES: { [LLAMA]: [{ backend: "engine", model: "m" }] },
		},
		fetch: upstream(reply).fetch,
	});

const toolChunk = (call: object): string =>
	`data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] })}\n\n`;

describe("generateContent", () => {
	it("returns a complete answer", async () => {
		const response = await testGateway().post(`${MODEL}:generateContent`, BODY);
		expect(response.status).toBe(200);
		expect(response.headers.get("x-ganglion-backend")).toBe("simulator");
		expect(await response.json()).toEqual({
			candidates: [
				{
					content: { parts: [{ text: expect.stringContaining("Alice") }], role: "model" },
					finishReason: "STOP",
					index: 0,
				},
			],
			usageMetadata: {
				promptTokenCount: expect.any(Number),
				candidatesTokenCount: expect.any(Number),
				totalTokenCount: expect.any(Number),
				neurons: expect.any(Number),
			},
			modelVersion: LLAMA,
			responseId: expect.stringMatching(/^chatcmpl-/),
		});
	});

	it("takes ids that are percent-encoded, and aliases", async () => {
		const { post } = testGateway({
			vars: { DEFAULT_BACKEND: "simulator", ALIASES: { "gemini-pro": LLAMA } },
		});
		for (const id of [encodeURIComponent(LLAMA), "gemini-pro"])
			expect((await post(`/v1beta/models/${id}:generateContent`, BODY)).status).toBe(200);
	});

	it("streams events, with complete tool calls and the counts at the end", async () => {
		const { post } = engine(() =>
			events(
				delta("he"),
				delta("llo"),
				toolChunk({ index: 0, id: "call_9", function: { name: "look", arguments: '{"at"' } }),
				toolChunk({ index: 0, function: { arguments: ":1}" } }),
				finish("tool_calls"),
				usage(),
				DONE,
			),
		);
		const sse = await post(`${MODEL}:streamGenerateContent?alt=sse`, BODY);
		expect(sse.headers.get("content-type")).toBe("text/event-stream");
		const frames = (await sse.text()).split("\n\n").filter((frame) => frame.startsWith("data: "));
		const heading = { modelVersion: LLAMA, responseId: "chatcmpl-1" };
		const textPart = (text: string) => ({
			candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0 }],
			...heading,
		});
		const expected = [
			textPart("he"),
			textPart("llo"),
			{
				candidates: [
					{
						content: {
							parts: [{ functionCall: { id: "call_9", name: "look", args: { at: 1 } } }],
							role: "model",
						},
						finishReason: "STOP",
						index: 0,
					},
				],
				usageMetadata: {
					promptTokenCount: 3,
					candidatesTokenCount: 2,
					totalTokenCount: 5,
					neurons: expect.any(Number),
				},
				...heading,
			},
		];
		expect(frames.map((frame) => JSON.parse(frame.slice(6)))).toEqual(expected);
		const array = await post(`${MODEL}:streamGenerateContent`, BODY);
		expect(array.headers.get("content-type")).toBe("application/json");
		expect(await array.json()).toEqual(expected);
	});

	it("reports the failure of a stream in its last event", async () => {
		const { post } = engine(() => events(delta("he")));
		const text = await (await post(`${MODEL}:streamGenerateContent?alt=sse`, BODY)).text();
		const last = text.split("\n\n").filter(Boolean).at(-1) ?? "";
		expect(JSON.parse(last.slice(6))).toMatchObject({ error: { code: 502, status: "UNAVAILABLE" } });
		const array = await (await post(`${MODEL}:streamGenerateContent`, BODY)).json<object[]>();
		expect(array.at(-1)).toHaveProperty("error");
	});

	it("counts tokens as the usage of an answer does", async () => {
		const { post } = testGateway();
		const { totalTokens } = await (await post(`${MODEL}:countTokens`, BODY)).json<{ totalTokens: number }>();
		const total = await (await post(`${MODEL}:countTokens`, { generateContentRequest: BODY })).json();
		expect(total).toEqual({ totalTokens });
		expect(await (await post(`${MODEL}:generateContent`, BODY)).json()).toMatchObject({
			usageMetadata: { promptTokenCount: totalTokens },
		});
	});

	it("counts the tokens of a result without its call", async () => {
		const { post } = testGateway();
		const parts = [{ functionResponse: { id: "x", name: "add", response: { output: "The sum is 42." } } }];
		const counted = await post(`${MODEL}:countTokens`, { contents: [{ role: "user", parts }] });
		expect(counted.status).toBe(200);
		expect((await counted.json<{ totalTokens: number }>()).totalTokens).toBeGreaterThan(0);
	});

	it("includes thoughts if the caller requests them", async () => {
		const { post } = testGateway();
		const path = "/v1beta/models/@cf/moonshotai/kimi-k2.6:generateContent";
		const parts = async (includeThoughts: boolean) => {
			const generationConfig = { thinkingConfig: { includeThoughts, thinkingLevel: "LOW" } };
			const reply = await (await post(path, { ...BODY, generationConfig })).json<{
				candidates: { content: { parts: { thought?: boolean }[] } }[];
				usageMetadata: { thoughtsTokenCount: number };
			}>();
			expect(reply.usageMetadata.thoughtsTokenCount).toBeGreaterThan(0);
			return reply.candidates[0]?.content.parts.map(({ thought = false }) => thought);
		};
		expect(await parts(true)).toEqual([true, false]);
		expect(await parts(false)).toEqual([false]);
	});
});

describe("the addresses of a method", () => {
	const ids = [
		"models/@cf/meta/llama-3.3-70b-instruct-fp8-fast",
		LLAMA,
		encodeURIComponent(LLAMA),
		"google/gemini-3.8-flash",
		"openrouter/meta-llama/llama-4-maverick",
	];
	const gateway = testGateway({
		vars: {
			DEFAULT_BACKEND: "simulator",
			ROUTES: {
				"google/gemini-3.8-flash": [{ backend: "simulator" }],
				"openrouter/meta-llama/llama-4-maverick": [{ backend: "simulator" }],
			},
		},
	});

	it.each(ids)("take %s below v1beta and v1, with the account in the address and without", async (id) => {
		for (const version of ["v1beta", "v1"])
			for (const base of ["", "http://gateway"])
				for (const method of ["generateContent", "streamGenerateContent", "countTokens"]) {
					const init = {
						method: "POST",
						body: JSON.stringify(BODY),
						headers: { "content-type": "application/json" },
					};
					const address = `${base || BASE}/${version}/${id}:${method}`;
					const response = await gateway.app.request(address, init);
					expect({ address, status: response.status, text: await response.text() }).toMatchObject({
						address,
						status: 200,
					});
				}
	});

	it("are not taken for those of a gateway's provider", async () => {
		const response = await gateway.app.request(
			"http://gateway/v1/local/plain/google-ai-studio/v1/models/gemini-3.8-flash:generateContent",
			{
				method: "POST",
				body: JSON.stringify(BODY),
				headers: { "content-type": "application/json" },
			},
		);
		expect(response.status).toBe(200);
		expect(response.headers.get("cf-aig-log-id")).not.toBeNull();
	});
});

describe("embeddings", () => {
	const content = (...texts: string[]) => ({ parts: texts.map((text) => ({ text })) });
	const vector = expect.objectContaining({ length: 1_024 });
	const { post } = testGateway();

	it("embed one content, and a batch in the order of its requests", async () => {
		const one = await post(`${EMBEDDER}:embedContent`, {
			model: `models/${"@cf/baai/bge-m3"}`,
			content: content("red"),
		});
		expect(one.status).toBe(200);
		const { embedding } = await one.json<{ embedding: { values: number[] } }>();
		expect(embedding.values).toEqual(vector);
		const batch = await post(`${EMBEDDER}:batchEmbedContents`, {
			requests: ["blue", "red"].map((text) => ({ content: content(text), task_type: "RETRIEVAL_QUERY" })),
		});
		const { embeddings } = await batch.json<{ embeddings: { values: number[] }[] }>();
		expect(embeddings).toEqual([{ values: vector }, embedding]);
		expect(embeddings[0]).not.toEqual(embedding);
	});

	it("join the texts of one content", async () => {
		const values = async (...texts: string[]) =>
			(await post(`${EMBEDDER}:embedContent`, { content: content(...texts) })).json();
		expect(await values("a", "b")).toEqual(await values("a\nb"));
	});

	it("send the requested length to the engine", async () => {
		const engine = upstream(() =>
			Response.json({
				data: [{ index: 0, embedding: [0.5, 0.25] }],
				usage: { prompt_tokens: 2, total_tokens: 2 },
			}),
		);
		const gateway = testGateway({
			vars: {
				BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
				ROUTES: { "@cf/qwen/qwen3-embedding-0.6b": [{ backend: "engine" }] },
			},
			fetch: engine.fetch,
		});
		const response = await gateway.post("/v1beta/models/@cf/qwen/qwen3-embedding-0.6b:embedContent", {
			content: content("red"),
			output_dimensionality: 2,
		});
		expect(await response.json()).toEqual({
			embedding: { values: [0.5, 0.25] },
			usageMetadata: { promptTokenCount: 2 },
		});
		expect(await engine.requests[0]?.json()).toMatchObject({ input: ["red"], dimensions: 2 });
	});

	it.each([
		[{ requests: [] }, "requests"],
		[{ requests: [{ content: {} }] }, "requests[0].content.parts"],
		[
			{ requests: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }] } }] },
			"requests[0].content.parts[0]: only text",
		],
		[
			{ requests: [{ content: content("a"), outputDimensionality: 3 }, { content: content("b") }] },
			"outputDimensionality",
		],
	])("refuse %j", async (body, path) => {
		const response = await post(`${EMBEDDER}:batchEmbedContents`, body);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			error: { code: 400, status: "INVALID_ARGUMENT", message: expect.stringContaining(path) },
		});
	});
});

describe("the models", () => {
	it("are listed in Google's format below /v1 for a client that sends Google's header", async () => {
		const { app } = testGateway({ vars: { DEFAULT_BACKEND: "simulator", ALIASES: { fast: LLAMA } } });
		const get = (path: string) =>
			app.request(`http://gateway/v1${path}`, { headers: { "x-goog-api-key": "none" } });
		const { models } = await (await get("/models?pageSize=1")).json<{ models: object[] }>();
		expect(models).toEqual([expect.objectContaining({ name: "models/fast", baseModelId: LLAMA })]);
		expect(await (await get("/models/@cf/baai/bge-m3")).json()).toMatchObject({
			name: "models/@cf/baai/bge-m3",
			supportedGenerationMethods: ["embedContent", "batchEmbedContents"],
		});
		const absent = await get("/models/gemini-3.8-flash");
		expect(absent.status).toBe(404);
		expect(await absent.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
	});

	it("are listed in pages", async () => {
		const { get } = testGateway({ vars: { DEFAULT_BACKEND: "simulator", ALIASES: { fast: LLAMA } } });
		type Page = { models: { name: string }[]; nextPageToken?: string };
		const first = await (await get("/v1beta/models?pageSize=1")).json<Page>();
		expect(first).toEqual({
			models: [
				{
					name: "models/fast",
					baseModelId: LLAMA,
					version: "1",
					displayName: "fast",
					description: expect.any(String),
					inputTokenLimit: 24_000,
					outputTokenLimit: 24_000,
					supportedGenerationMethods: ["generateContent", "countTokens"],
				},
			],
			nextPageToken: "1",
		});
		const second = await (await get("/v1beta/models?pageToken=1&pageSize=1000")).json<Page>();
		expect(second.nextPageToken).toBeUndefined();
		expect(second.models.map(({ name }) => name)).toContain(`models/${LLAMA}`);
		expect(await (await get("/v1beta/models/fast")).json()).toEqual(first.models[0]);
	});
});

describe("a credential", () => {
	const gateway = closedGateway();
	const { send, createToken, account } = gateway;

	it("is Google's header, the query or a bearer, for an account and at the root", async () => {
		const token = await createToken(["Workers AI Run"]);
		const body = json("POST", BODY);
		const keyed = { ...body, headers: { ...body.headers, "x-goog-api-key": token } };
		for (const base of ["/ai", "http://gateway"]) {
			const path = `${base}${MODEL}:generateContent`;
			expect((await send(path, undefined, keyed)).status).toBe(200);
			expect((await send(`${path}?key=${token}`, undefined, body)).status).toBe(200);
			expect((await send(path, token, body)).status).toBe(200);
		}
		expect((await send(`/ai/v1/chat/completions?key=${ADMIN}`, undefined, body)).status).toBe(401);
		expect(account).not.toBe("");
	});

	it("that is missing or invalid is refused in Google's format", async () => {
		const read = await createToken(["Workers AI Metadata Read"]);
		for (const method of ["generateContent", "countTokens"]) {
			const path = `/ai${MODEL}:${method}`;
			const stranger = await send(path, undefined, json("POST", BODY));
			expect(stranger.status).toBe(401);
			expect(await stranger.json()).toEqual({
				error: { code: 401, message: UNAUTHENTICATED, status: "UNAUTHENTICATED" },
			});
			const reader = await send(path, read, json("POST", BODY));
			expect(await reader.json()).toMatchObject({ error: { code: 403, status: "PERMISSION_DENIED" } });
		}
	});

	it.each([
		[`${MODEL}:generateContent`, { contents: [] }, 400, "INVALID_ARGUMENT"],
		["/v1beta/models/@cf/meta/none:generateContent", BODY, 404, "NOT_FOUND"],
		["/v1beta/models/@cf/baai/bge-m3:generateContent", BODY, 404, "NOT_FOUND"],
		[`${MODEL}:embedContent`, { content: { parts: [{ text: "a" }] } }, 404, "NOT_FOUND"],
		[`${MODEL}:predict`, BODY, 404, "NOT_FOUND"],
		[`${EMBEDDER}:embedContent`, BODY, 400, "INVALID_ARGUMENT"],
		[MODEL, BODY, 404, "NOT_FOUND"],
	])("%s with %j is refused with %i", async (path, body, code, status) => {
		const response = await send(`/ai${path}`, ADMIN, json("POST", body));
		expect(response.status).toBe(code);
		expect(await response.json()).toMatchObject({ error: { code, status } });
	});
});
