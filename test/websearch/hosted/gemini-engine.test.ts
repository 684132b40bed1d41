/** Search tools of callers at a Gemini backend: sent as Google's own tool if the gateway has no search provider. */
import { describe, expect, it } from "vitest";
import { events, testGateway, upstream } from "../../gateway.ts";
import { dataOf } from "./search-engine.ts";

const MODEL = "gemini-3.8-flash";
const TEXT = "Ünlü: They have storage. Yes.";
const CITED = "They have storage.";
/** Bytes: "Ü" and "ü" have two. */
const groundingMetadata = {
	webSearchQueries: ["storage of Durable Objects", "Durable Objects SQLite"],
	groundingChunks: [
		{ web: { uri: "https://example.com/a", title: "Page A" } },
		{ web: { uri: "https://example.com/b", title: "Page B" } },
	],
	groundingSupports: [{ segment: { startIndex: 8, endIndex: 26, text: CITED }, groundingChunkIndices: [1] }],
	searchEntryPoint: { renderedContent: "<div></div>" },
};
const usageMetadata = { promptTokenCount: 6, candidatesTokenCount: 4, totalTokenCount: 10 };
const candidate = (text: string, fields: object = {}) => ({
	candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...fields }],
	usageMetadata,
	modelVersion: MODEL,
	responseId: "r-1",
});
const END = { finishReason: "STOP", groundingMetadata };
const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

function googleGateway(vars: Record<string, unknown> = {}) {
	const { fetch, requests } = upstream((request) =>
		request.url.includes("streamGenerateContent")
			? events(frame(candidate("Ünlü: They have ")), frame(candidate("storage. Yes.", END)))
			: Response.json(candidate(TEXT, END)),
	);
	const own = {
		BACKENDS: { google: { kind: "gemini", url: "https://google.example", key: "GOOGLE_KEY" } },
		GOOGLE_KEY: "key",
		ROUTES: { "acme/assistant-1": { targets: [{ backend: "google", model: MODEL }] } },
		MODELS: { "acme/assistant-1": { task: "Text Generation", capabilities: ["function_calling"] } },
		WEB_SEARCH: {},
	};
	const gateway = testGateway({ vars: { ...own, ...vars }, fetch });
	const sent = async () =>
		Promise.all(requests.map((request) => request.clone().json<Record<string, unknown>>()));
	return { ...gateway, sent };
}

const QUESTION = "Do Durable Objects have storage?";
const messages = [{ role: "user", content: QUESTION }];
const CITATION = { start_index: 6, end_index: 24, title: "Page B", url: "https://example.com/b" };

interface Format {
	path: (stream: boolean) => string;
	body: object;
	tool: object;
	whole(answer: never): unknown;
	streamed(text: string): unknown;
	shown: unknown;
}

const searchBlocks = [
	["text", TEXT, ["https://example.com/b"]],
	["server_tool_use", "storage of Durable Objects"],
	["web_search_tool_result", ["https://example.com/a", "https://example.com/b"]],
	["server_tool_use", "Durable Objects SQLite"],
	["web_search_tool_result", []],
];
interface AnthropicBlock {
	type: string;
	text?: string;
	citations?: { url: string }[];
	input?: { query: string };
	content?: { url: string }[];
}
const shownBlock = ({ type, text, citations, input, content }: AnthropicBlock) =>
	type === "text"
		? [type, text, citations?.map(({ url }) => url)]
		: [type, input?.query ?? content?.map(({ url }) => url)];

function streamedBlocks(text: string): unknown[] {
	const blocks: (AnthropicBlock & { json?: string })[] = [];
	type Event = { type: string; content_block: AnthropicBlock; delta: Record<string, never> };
	for (const { type, content_block, delta } of dataOf<Event>(text)) {
		if (type === "content_block_start") blocks.push(structuredClone(content_block));
		const block = blocks.at(-1);
		if (type !== "content_block_delta" || !block) continue;
		block.text = (block.text ?? "") + (delta.text ?? "");
		if (delta.citation) block.citations = [...(block.citations ?? []), delta.citation];
		if (delta.partial_json) block.input = JSON.parse(delta.partial_json);
	}
	return blocks.map(shownBlock);
}

interface ResponsesItem {
	type: string;
	action?: { query: string };
	content?: { text: string; annotations: object[] }[];
}
const shownItem = ({ type, action, content }: ResponsesItem) => [
	type,
	action?.query ?? content?.map(({ text, annotations }) => [text, annotations]),
];
const searchItems = [
	["web_search_call", "storage of Durable Objects"],
	["web_search_call", "Durable Objects SQLite"],
];
const messageItem = ["message", [[TEXT, [{ type: "url_citation", ...CITATION }]]]];

const shownGrounding = {
	webSearchQueries: groundingMetadata.webSearchQueries,
	groundingChunks: [
		{ web: { uri: "https://example.com/a", title: "Page A", domain: "example.com" } },
		{ web: { uri: "https://example.com/b", title: "Page B", domain: "example.com" } },
	],
	groundingSupports: [{ segment: { startIndex: 8, endIndex: 26, text: CITED }, groundingChunkIndices: [1] }],
};

const FORMATS: Record<string, Format> = {
	chat: {
		path: () => "/v1/chat/completions",
		body: { messages },
		tool: { web_search_options: {} },
		whole: ({ choices }: { choices: { message: { content: string; annotations: object } }[] }) => [
			choices[0]?.message.content,
			choices[0]?.message.annotations,
		],
		streamed(text) {
			type Chunk = { choices: { delta: { content?: string; annotations?: object[] } }[] };
			const deltas = dataOf<Chunk>(text).flatMap(({ choices }) => choices.map(({ delta }) => delta));
			expect(text).not.toContain('"web_search"');
			return [
				deltas.map(({ content }) => content ?? "").join(""),
				deltas.flatMap(({ annotations }) => annotations ?? []),
			];
		},
		shown: [TEXT, [{ type: "url_citation", url_citation: CITATION }]],
	},
	Responses: {
		path: () => "/v1/responses",
		body: { input: QUESTION },
		tool: { tools: [{ type: "web_search" }] },
		whole: ({ output }: { output: ResponsesItem[] }) => output.map(shownItem).toSorted(byType),
		streamed(text) {
			const end = dataOf<{ type: string; response: { output: ResponsesItem[] } }>(text).at(-1);
			expect(end?.type).toBe("response.completed");
			return end?.response.output.map(shownItem).toSorted(byType);
		},
		shown: [messageItem, ...searchItems],
	},
	Messages: {
		path: () => "/v1/messages",
		body: { max_tokens: 100, messages },
		tool: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
		whole: ({ content }: { content: AnthropicBlock[] }) =>
			// The complete answer has the searches first.
			[...content.slice(4), ...content.slice(0, 4)].map(shownBlock),
		streamed: streamedBlocks,
		shown: searchBlocks,
	},
	Gemini: {
		path: (stream) =>
			`/v1beta/models/acme%2Fassistant-1:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		body: { contents: [{ role: "user", parts: [{ text: QUESTION }] }] },
		tool: { tools: [{ googleSearch: {} }] },
		whole: ({ candidates }: { candidates: { groundingMetadata: object }[] }) => [
			candidates[0]?.groundingMetadata,
		],
		streamed: (text) =>
			dataOf<{ candidates: { groundingMetadata?: object }[] }>(text).flatMap(
				({ candidates }) => candidates[0]?.groundingMetadata ?? [],
			),
		shown: [shownGrounding],
	},
};

function byType([one]: unknown[], [other]: unknown[]): number {
	return String(one).localeCompare(String(other));
}

const bodyOf = ({ body }: Format, stream: boolean, others: object) => ({
	model: "acme/assistant-1",
	...body,
	...others,
	// Gemini's requests have it in their address.
	...(stream && !("contents" in body) && { stream }),
});

describe("a search tool of a caller at a Gemini backend", () => {
	it.each(Object.entries(FORMATS))("is Google's own tool, whole and streamed: %s", async (_, format) => {
		for (const stream of [false, true]) {
			const { post, sent } = googleGateway();
			const response = await post(format.path(stream), bodyOf(format, stream, format.tool));
			expect(response.headers.get("x-ganglion-dropped")).toBeNull();
			const text = await response.text();
			expect(response.status, text).toBe(200);
			expect(stream ? format.streamed(text) : format.whole(JSON.parse(text) as never)).toEqual(format.shown);
			expect((await sent()).map(({ tools }) => tools)).toEqual([[{ googleSearch: {} }]]);
		}
	});

	it("has the domains that the caller excludes", async () => {
		const { post, sent } = googleGateway();
		const tools = [{ type: "web_search", filters: { blocked_domains: ["https://Example.org/"] } }];
		expect((await post("/v1/responses", bodyOf(FORMATS.Responses as Format, false, { tools }))).status).toBe(
			200,
		);
		expect((await sent())[0]?.tools).toEqual([{ googleSearch: { excludeDomains: ["example.org"] } }]);
	});

	it("is left out and named beside functions, and with a list of allowed domains", async () => {
		const { post, sent } = googleGateway();
		const parameters = { type: "object", properties: {} };
		const read = { type: "function", name: "read_file", parameters, strict: false };
		for (const tools of [
			[{ type: "web_search" }, read],
			[{ type: "web_search", filters: { allowed_domains: ["example.com"] } }],
		]) {
			const response = await post("/v1/responses", bodyOf(FORMATS.Responses as Format, false, { tools }));
			expect(response.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
		}
		const declared = { name: "read_file", parametersJsonSchema: parameters };
		expect((await sent()).map(({ tools }) => tools)).toEqual([
			[{ functionDeclarations: [declared] }],
			undefined,
		]);
	});

	it.each([
		["chat", "web_search_options"],
		["Responses", "tools.web_search"],
		["Messages", "tools.web_search"],
		["Gemini", "tools.googleSearch"],
	])("is left out and named for a model without it: %s", async (name, dropped) => {
		const { post, sent } = googleGateway({
			ROUTES: { "acme/assistant-1": { targets: [{ backend: "google", model: "gemma-4-26b" }] } },
		});
		const format = FORMATS[name] as Format;
		const response = await post(format.path(false), bodyOf(format, false, format.tool));
		expect(response.headers.get("x-ganglion-dropped")).toBe(dropped);
		expect((await sent())[0]?.tools).toBeUndefined();
	});

	it("is the gateway's if a search provider is configured", async () => {
		const { post, sent } = googleGateway({
			WEB_SEARCH: { "in-house": { kind: "searxng", url: "http://searx.lan" } },
		});
		const format = FORMATS.Responses as Format;
		expect((await post(format.path(false), bodyOf(format, false, format.tool))).status).toBe(200);
		expect((await sent())[0]?.tools).toMatchObject([{ functionDeclarations: [{ name: "web_search" }] }]);
	});
});
