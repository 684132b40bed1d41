/**
 * The search tools of the published SDKs, for a model that has no search of its own: the gateway searches, and each SDK reads the answer in
 * its vendor's form.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { generateText, isStepCount, type LanguageModel, streamText, type ToolSet } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENGINE_MODEL } from "../hosts/engine.ts";
import type { Script } from "../hosts/script.ts";
import { Hosts } from "../hosts/server.ts";
import { ACCOUNT, type StartedGateway, startGateway } from "./gateway.ts";

const QUERY = "durable-objects";
const PROMPT = "Do Durable Objects have storage?";
const LINK = `[Page of ${QUERY}](https://example.com/${QUERY})`;
const ANSWER = `They have storage (${LINK}).`;
const PAGE = { url: `https://example.com/${QUERY}`, title: `Page of ${QUERY}` };

/** Searches once, and answers from the result. */
const searchesOnce: Script = ({ tools, turns }) => {
	const result = turns.flatMap(({ results }) => results)[0];
	if (result) {
		const isFound = result.text.includes(PAGE.url);
		return { kind: "text", pieces: isFound ? ["They have ", `storage (${LINK}).`] : ["Nothing was found."] };
	}
	if (!tools.includes("web_search")) return { kind: "text", pieces: [`No search among: ${tools.join()}`] };
	return { kind: "tools", calls: [{ name: "web_search", input: { query: QUERY } }] };
};

const hosts = new Hosts(searchesOnce);
let gateway: StartedGateway;
let base: string;

beforeAll(async () => {
	const url = await hosts.listen();
	const engine = [{ backend: "engine", model: ENGINE_MODEL }];
	gateway = await startGateway({
		BACKENDS: JSON.stringify({ engine: { kind: "openai", url: `${url}/engine/v1` } }),
		ROUTES: JSON.stringify({ "gpt-*": engine, "claude-*": engine, "gemini-*": engine }),
		WEB_SEARCH: JSON.stringify({ "in-house": { kind: "searxng", url: `${url}/searxng` } }),
	});
	base = `${gateway.baseURL}/accounts/${ACCOUNT}/ai`;
});
afterAll(async () => {
	await gateway.stop();
	hosts.close();
});

describe("openai", () => {
	const model = "gpt-6-astra";
	const client = () => new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
	const annotation = {
		type: "url_citation",
		...PAGE,
		start_index: ANSWER.indexOf(LINK),
		end_index: ANSWER.indexOf(LINK) + LINK.length,
	};

	it("reads the search and the citations of a response", async () => {
		const response = await client().responses.create({
			model,
			input: PROMPT,
			tools: [{ type: "web_search" }],
			include: ["web_search_call.action.sources"],
		});
		expect(response.output_text).toBe(ANSWER);
		expect(response.output).toMatchObject([
			{
				type: "web_search_call",
				status: "completed",
				action: { type: "search", query: QUERY, sources: [{ type: "url", url: PAGE.url }] },
			},
			{ type: "message", content: [{ annotations: [annotation] }] },
		]);
	});

	it("reads them from a stream, which its helper accumulates", async () => {
		const stream = client().responses.stream({ model, input: PROMPT, tools: [{ type: "web_search" }] });
		const types = new Set<string>();
		for await (const { type } of stream) types.add(type);
		for (const step of ["in_progress", "searching", "completed"])
			expect(types).toContain(`response.web_search_call.${step}`);
		const response = await stream.finalResponse();
		expect(response.output_text).toBe(ANSWER);
		expect(response.output.map(({ type }) => type)).toEqual(["web_search_call", "message"]);
		expect(response.output[1]).toMatchObject({ content: [{ annotations: [annotation] }] });
	});

	it("continues a stored response that has searched", async () => {
		const tools = [{ type: "web_search" as const }];
		const first = await client().responses.create({ model, input: PROMPT, tools });
		const second = await client().responses.create({
			model,
			input: "And alarms?",
			previous_response_id: first.id,
			tools,
		});
		expect(second.output_text).toBe(ANSWER);
	});

	it.each([false, true])("reads the annotations of a chat completion, stream: %s", async (isStream) => {
		const request = {
			model,
			messages: [{ role: "user" as const, content: PROMPT }],
			web_search_options: {},
		};
		if (!isStream) {
			const { choices } = await client().chat.completions.create(request);
			expect(choices[0]?.message).toMatchObject({
				content: ANSWER,
				annotations: [{ type: "url_citation", url_citation: { ...PAGE } }],
			});
			return;
		}
		const completion = await client().chat.completions.stream(request).finalChatCompletion();
		expect(completion.choices[0]?.message).toMatchObject({
			content: ANSWER,
			annotations: [{ type: "url_citation", url_citation: { ...PAGE } }],
		});
	});
});

describe("@anthropic-ai/sdk", () => {
	const request = {
		model: "claude-opus-5-5",
		max_tokens: 1024,
		messages: [{ role: "user" as const, content: PROMPT }],
		tools: [{ type: "web_search_20250305" as const, name: "web_search" as const, max_uses: 3 }],
	};
	const client = () => new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0 });
	const content = [
		{ type: "server_tool_use", name: "web_search", input: { query: QUERY } },
		{ type: "web_search_tool_result", content: [{ type: "web_search_result", ...PAGE }] },
		{ type: "text", text: ANSWER, citations: [{ type: "web_search_result_location", ...PAGE }] },
	];

	it("reads the search, the results, the citations and the count", async () => {
		const message = await client().messages.create(request);
		expect(message).toMatchObject({
			stop_reason: "end_turn",
			usage: { server_tool_use: { web_search_requests: 1 } },
		});
		expect(message.content).toMatchObject(content);
	});

	it("accumulates them from a stream", async () => {
		const message = await client().messages.stream(request).finalMessage();
		expect(message.usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
		const [search, results, ...texts] = message.content;
		expect([search, results]).toMatchObject(content.slice(0, 2));
		const parts = texts.map((block) => (block.type === "text" ? block : { text: "", citations: [] }));
		expect(parts.map(({ text }) => text).join("")).toBe(ANSWER);
		expect(parts.flatMap(({ citations }) => citations ?? [])).toMatchObject([
			{ type: "web_search_result_location", ...PAGE },
		]);
	});

	it("sends the blocks again in the next turn", async () => {
		const first = await client().messages.create(request);
		const messages: Anthropic.MessageParam[] = [
			...request.messages,
			{ role: "assistant", content: first.content },
			{ role: "user", content: "And alarms?" },
		];
		const second = await client().messages.create({ ...request, messages });
		expect(second).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text", text: ANSWER }] });
		const sent = JSON.stringify(hosts.calls.findLast(({ host }) => host === "engine")?.body);
		expect(sent).toContain("And alarms?");
		expect(sent).toContain(PAGE.url);
	});
});

describe("@google/genai", () => {
	const request = { model: "gemini-3.8-flash", contents: PROMPT, config: { tools: [{ googleSearch: {} }] } };
	const models = () => new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: base } }).models;
	const groundingMetadata = {
		webSearchQueries: [QUERY],
		groundingChunks: [{ web: { uri: PAGE.url, title: PAGE.title } }],
		groundingSupports: [{ groundingChunkIndices: [0] }],
	};

	it("reads the grounding of an answer", async () => {
		const answer = await models().generateContent(request);
		expect(answer.text).toContain("They have storage");
		expect(answer.candidates?.[0]?.groundingMetadata).toMatchObject(groundingMetadata);
	});

	it("reads it from a stream", async () => {
		let text = "";
		const found: unknown[] = [];
		for await (const piece of await models().generateContentStream(request)) {
			text += piece.text ?? "";
			const { groundingMetadata: grounding } = piece.candidates?.[0] ?? {};
			if (grounding) found.push(grounding);
		}
		expect(text).toContain("They have storage");
		expect(found.at(-1)).toMatchObject(groundingMetadata);
	});
});

describe("the AI SDK", () => {
	const openai = () => createOpenAI({ baseURL: `${base}/v1`, apiKey: "none" });
	const anthropic = () => createAnthropic({ baseURL: `${base}/v1`, apiKey: "none" });
	const google = () => createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey: "none" });
	const providers: Record<string, () => { model: LanguageModel; tools: ToolSet }> = {
		openai: () => ({ model: openai()("gpt-6-astra"), tools: { web_search: openai().tools.webSearch() } }),
		anthropic: () => ({
			model: anthropic()("claude-opus-5-5"),
			tools: { web_search: anthropic().tools.webSearch_20250305() },
		}),
		google: () => ({
			model: google()("gemini-3.8-flash"),
			tools: { google_search: google().tools.googleSearch({}) },
		}),
	};

	it.each(Object.entries(providers))("has %s's sources, whole and streamed", async (name, provider) => {
		// OpenAI's provider prefers the sources of the search, which have no titles.
		const source = { sourceType: "url", url: PAGE.url, ...(name !== "openai" && { title: PAGE.title }) };
		const options = { ...provider(), prompt: PROMPT, stopWhen: isStepCount(2) };
		const answer = await generateText(options);
		expect(answer.text).toContain("They have storage");
		expect(answer.sources).toContainEqual(expect.objectContaining(source));
		expect(answer.finishReason).toBe("stop");
		const streamed = streamText(options);
		let text = "";
		for await (const piece of streamed.textStream) text += piece;
		expect(text).toContain("They have storage");
		expect(await streamed.sources).toContainEqual(expect.objectContaining(source));
	});
});
