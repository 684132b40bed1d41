/** `web_search_options` on chat, and `googleSearch` on Gemini's API, run by the gateway for a chat-only engine. */
import { describe, expect, it } from "vitest";
import { testGateway } from "../../gateway.ts";
import { hostFetch, recordBodies } from "../../hosts/fetch.ts";
import { OPENROUTER_KEY, OPENROUTER_SIGNATURE, openRouter } from "../../hosts/openrouter.ts";
import type { Script } from "../../hosts/script.ts";
import { SEARCH_VARS, searchHosts } from "../search-hosts.ts";
import { ANSWER, dataOf, searchingGateway } from "./search-engine.ts";

const MODEL = "gpt-6-astra";
const QUESTION = "Do Durable Objects have storage?";

describe("web_search_options", () => {
	const REQUEST = {
		model: MODEL,
		messages: [{ role: "user", content: QUESTION }],
		web_search_options: {
			search_context_size: "low",
			user_location: { type: "approximate", approximate: { country: "US" } },
		},
	};
	const annotations = [
		{
			type: "url_citation",
			url_citation: { start_index: 19, end_index: 56, title: "SearXNG page", url: "https://example.com/s" },
		},
	];

	it("gives an answer with annotations, and no call", async () => {
		const { post, requests } = searchingGateway();
		const answer = await (await post("/v1/chat/completions", REQUEST)).json<{
			choices: object[];
			usage: object;
		}>();
		expect(answer.choices).toMatchObject([
			{
				index: 0,
				message: { role: "assistant", content: ANSWER, annotations, tool_calls: null },
				finish_reason: "stop",
			},
		]);
		expect(answer.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 });
		expect(JSON.stringify(answer)).not.toContain("searched");
		expect(requests[0]).not.toHaveProperty("web_search_options");
	});

	it("gives a stream with annotations before its end", async () => {
		const { post } = searchingGateway();
		const body = { ...REQUEST, stream: true, stream_options: { include_usage: true } };
		const text = await (await post("/v1/chat/completions", body)).text();
		interface Chunk {
			choices: { delta: { content?: string; annotations?: object }; finish_reason: string | null }[];
			usage?: object;
		}
		const sent = dataOf<Chunk>(text);
		expect(sent.flatMap(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(ANSWER);
		expect(sent.flatMap(({ choices }) => choices[0]?.delta.annotations ?? [])).toEqual(annotations);
		expect(sent.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(["stop"]);
		expect(sent.flatMap(({ usage }) => usage ?? [])).toMatchObject([
			{ prompt_tokens: 6, completion_tokens: 4 },
		]);
		expect(text).not.toMatch(/tool_calls|web_search/);
		expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
	});

	it.each([false, true])("keeps the reasoning that OpenRouter wants back, stream: %s", async (stream) => {
		const script: Script = ({ turns }) =>
			turns.some(({ results }) => results.length > 0)
				? { kind: "text", pieces: ["They ", "have."] }
				: { kind: "tools", calls: [{ name: "web_search", input: { query: "Durable Objects" } }] };
		const host = hostFetch(openRouter, script);
		const search = searchHosts(host).fetch;
		const { fetch, bodies } = recordBodies((request) =>
			request.url.startsWith("https://openrouter.ai/")
				? host(request)
				: search(request.url, { method: request.method, headers: request.headers }),
		);
		const { post } = testGateway({
			vars: {
				...SEARCH_VARS,
				WEB_SEARCH: { "in-house": { kind: "searxng", url: "http://searx.lan" } },
				BACKENDS: { host: { kind: "openai", url: "https://openrouter.ai/api/v1", key: "OPENROUTER_KEY" } },
				ROUTES: { "*": [{ backend: "host", model: "anthropic/claude-opus-5.5" }] },
				OPENROUTER_KEY,
			},
			fetch,
		});
		const response = await post("/v1/chat/completions", { ...REQUEST, stream });
		const text = await response.text();
		expect([response.status, text]).toEqual([200, expect.not.stringContaining("tool_use")]);
		expect(bodies.filter((body) => body.includes(OPENROUTER_SIGNATURE))).toHaveLength(1);
	});

	it("is ignored for several choices, and without a provider", async () => {
		for (const [body, vars] of [
			[{ n: 2 }, {}],
			[{}, { WEB_SEARCH: {} }],
		]) {
			const { post, requests, searches } = searchingGateway(() => ({ text: "Yes." }), vars);
			expect((await post("/v1/chat/completions", { ...REQUEST, ...body })).status).toBe(200);
			expect([requests.length, searches.length]).toEqual([1, 0]);
			expect(requests[0]?.tools).toBeUndefined();
		}
	});
});

describe("googleSearch", () => {
	const path = (method: string) => `/v1beta/models/${MODEL}:${method}`;
	const contents = [{ role: "user", parts: [{ text: QUESTION }] }];
	const groundingMetadata = {
		webSearchQueries: ["storage of Durable Objects"],
		groundingChunks: [
			{ web: { uri: "https://example.com/s", title: "SearXNG page", domain: "example.com" } },
			{ web: { uri: "https://evil.example.net/s", title: "Another host", domain: "evil.example.net" } },
		],
		groundingSupports: [
			{
				segment: { startIndex: 19, endIndex: 56, text: "[SearXNG page](https://example.com/s)" },
				groundingChunkIndices: [0],
			},
		],
	};

	it.each([{ googleSearch: {} }, { google_search: {} }, { googleSearchRetrieval: {} }])(
		"%o grounds the answer",
		async (tool) => {
			const { post } = searchingGateway();
			const answer = await (await post(path("generateContent"), { contents, tools: [tool] })).json();
			expect(answer).toMatchObject({
				candidates: [
					{ content: { parts: [{ text: ANSWER }], role: "model" }, finishReason: "STOP", groundingMetadata },
				],
				usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 4 },
			});
		},
	);

	it("has its metadata in the last event of a stream", async () => {
		const { post } = searchingGateway();
		const body = { contents, tools: [{ googleSearch: { excludeDomains: ["example.net"] } }] };
		const sent = dataOf<{ candidates: { groundingMetadata?: { groundingChunks: object[] } }[] }>(
			await (await post(`${path("streamGenerateContent")}?alt=sse`, body)).text(),
		);
		expect(sent.slice(0, -1).every(({ candidates }) => !candidates[0]?.groundingMetadata)).toBe(true);
		expect(sent.at(-1)?.candidates[0]?.groundingMetadata?.groundingChunks).toEqual(
			groundingMetadata.groundingChunks.slice(0, 1),
		);
	});

	it("counts the positions in bytes", async () => {
		const text = "Évidemment: https://example.com/s.";
		const { post } = searchingGateway(({ messages }) =>
			messages.some(({ role }) => role === "tool")
				? { text }
				: { calls: [{ name: "web_search", arguments: '{"query":"x"}' }] },
		);
		const answer = await (
			await post(path("generateContent"), { contents, tools: [{ googleSearch: {} }] })
		).json();
		expect(answer).toMatchObject({
			candidates: [
				{
					groundingMetadata: {
						groundingSupports: [{ segment: { startIndex: 13, endIndex: 34, text: "https://example.com/s" } }],
					},
				},
			],
		});
	});

	it("leaves functions of the caller to the caller", async () => {
		const { post, searches } = searchingGateway(() => ({
			calls: [{ name: "get_weather", arguments: "{}" }],
		}));
		const tools = [{ googleSearch: {} }, { functionDeclarations: [{ name: "get_weather" }] }];
		const answer = await (await post(path("generateContent"), { contents, tools })).json();
		expect(answer).toMatchObject({
			candidates: [{ content: { parts: [{ functionCall: { name: "get_weather" } }] } }],
		});
		expect(searches).toEqual([]);
	});
});
