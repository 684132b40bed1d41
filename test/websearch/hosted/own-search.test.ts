/** Search tools at OpenAI and Anthropic for callers of other formats: sent as the provider's own tool if the gateway has no search provider. */
import { describe, expect, it } from "vitest";
import { events, testGateway } from "../../gateway.ts";
import { ANTHROPIC_KEY, anthropic } from "../../hosts/anthropic/index.ts";
import { hostFetch, recordBodies } from "../../hosts/fetch.ts";
import { OPENAI_KEY, openai } from "../../hosts/openai/index.ts";
import { sealOf } from "../../hosts/openai/response-items.ts";
import type { Host } from "../../hosts/script.ts";
import { dataOf } from "./search-engine.ts";

const BEFORE = "Ünlü: I search. ";
const CITED = "They have storage.";
const AFTER = " Yes.";
const TEXT = BEFORE + CITED + AFTER;
const QUERIES = ["storage of Durable Objects", "Durable Objects SQLite"];
const PAGE = { url: "https://example.com/b", title: "Page B" };

const frames = (parts: readonly object[]): string[] =>
	parts.map((part) => `data: ${JSON.stringify(part)}\n\n`);

const searchItem = {
	type: "web_search_call",
	id: "ws_1",
	status: "completed",
	action: { type: "search", queries: QUERIES, sources: [{ type: "url", url: PAGE.url }] },
};
const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealOf("gpt-5.6-sol") };
const annotation = { type: "url_citation", start_index: 0, end_index: CITED.length, ...PAGE };
const part = (text: string, annotations: object[] = []) => ({ type: "output_text", text, annotations });
const messageItem = (id: string, phase: string, content: object) => ({
	type: "message",
	id,
	role: "assistant",
	status: "completed",
	phase,
	content: [content],
});
const output = [
	messageItem("msg_1", "commentary", part(BEFORE)),
	reasoning,
	searchItem,
	messageItem("msg_2", "final_answer", part(CITED + AFTER, [annotation])),
];
const usage = { input_tokens: 90, output_tokens: 12, total_tokens: 102 };
const response = (fields: object) => ({ id: "resp_1", object: "response", model: "gpt-5.6-sol", ...fields });

function openAiReply(stream: boolean): Response {
	if (!stream) return Response.json(response({ status: "completed", output, usage }));
	const items = output.flatMap((item, output_index) => {
		const place = { output_index, content_index: 0, item_id: item.id };
		const text = "content" in item ? item.content.flatMap((each) => (each as { text: string }).text) : [];
		return [
			{ type: "response.output_item.added", output_index, item: { ...item, content: [], action: undefined } },
			...text.map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
			...(output_index === 3
				? [{ type: "response.output_text.annotation.added", ...place, annotation }]
				: []),
			{ type: "response.output_item.done", output_index, item },
		];
	});
	return events(
		...frames([
			{ type: "response.created", response: response({ status: "in_progress", output: [] }) },
			...items,
			{ type: "response.completed", response: response({ status: "completed", output, usage }) },
		]),
	);
}

const result = (query: string, content: unknown) => [
	{ type: "server_tool_use", id: `srvtoolu_${query.length}`, name: "web_search", input: { query } },
	{ type: "web_search_tool_result", tool_use_id: `srvtoolu_${query.length}`, content },
];
const found = { type: "web_search_result", ...PAGE, page_age: "2 days ago", encrypted_content: "ZW5j" };
const cited = {
	type: "web_search_result_location",
	...PAGE,
	cited_text: "A Durable Object has storage.",
	encrypted_index: "aWR4",
};
const blocks = [
	{ type: "text", text: BEFORE },
	...result(QUERIES[0] as string, [found]),
	...result(QUERIES[1] as string, { type: "web_search_tool_result_error", error_code: "too_many_requests" }),
	{ type: "text", text: CITED, citations: [cited] },
	{ type: "text", text: AFTER },
];
const counts = { input_tokens: 90, output_tokens: 12, server_tool_use: { web_search_requests: 2 } };
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-opus-5-5" };

function anthropicReply(stream: boolean): Response {
	if (!stream) return Response.json({ ...message, content: blocks, stop_reason: "end_turn", usage: counts });
	const deltasOf = (block: { text?: string; citations?: object[]; input?: object }): object[] => [
		...(block.citations ?? []).map((citation) => ({ type: "citations_delta", citation })),
		...(block.text ? [{ type: "text_delta", text: block.text }] : []),
		...(block.input ? [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }] : []),
	];
	const parts = blocks.flatMap((block, index) => {
		const empty = {
			...block,
			...("text" in block && { text: "", citations: [] }),
			...("input" in block && { input: {} }),
		};
		return [
			{ type: "content_block_start", index, content_block: empty },
			...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
			{ type: "content_block_stop", index },
		];
	});
	return events(
		...frames([
			{ type: "message_start", message: { ...message, content: [], usage: { ...counts, output_tokens: 1 } } },
			...parts,
			{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: counts },
			{ type: "message_stop" },
		]),
	);
}

interface Provider {
	host: Host;
	backend: object;
	model: string;
	reply(stream: boolean): Response;
}

const PROVIDERS = {
	OpenAI: {
		host: openai,
		backend: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		model: "gpt-5.6-sol",
		reply: openAiReply,
	},
	Anthropic: {
		host: anthropic,
		backend: { kind: "anthropic", url: "https://api.anthropic.com", key: "ANTHROPIC_KEY" },
		model: "claude-opus-5-5",
		reply: anthropicReply,
	},
} satisfies Record<string, Provider>;
type ProviderName = keyof typeof PROVIDERS;

interface SentBody {
	tools?: object[];
	tool_choice?: unknown;
	input?: { type: string; encrypted_content?: string }[];
	include?: string[];
	stream?: boolean;
	[field: string]: unknown;
}

/** The host checks the request, and its answer has citations. */
function providerGateway(name: ProviderName, vars: Record<string, unknown> = {}) {
	const { host, backend, reply, model } = PROVIDERS[name];
	const check = hostFetch(host, () => ({ kind: "search", query: "q", text: "t" }));
	const { fetch, bodies } = recordBodies(async (request) => {
		const { stream = false } = await request.clone().json<SentBody>();
		const checked = await check(request);
		return checked.ok && !request.url.endsWith("/chat/completions") ? reply(stream) : checked;
	});
	const own = {
		BACKENDS: { own: backend },
		OPENAI_KEY,
		ANTHROPIC_KEY,
		ROUTES: { "acme/assistant-1": { targets: [{ backend: "own", model }] } },
		MODELS: { "acme/assistant-1": { task: "Text Generation", capabilities: ["function_calling"] } },
		WEB_SEARCH: {},
	};
	const gateway = testGateway({ vars: { ...own, ...vars }, fetch });
	return { ...gateway, sent: () => bodies.map((body) => JSON.parse(body) as SentBody) };
}

/** What a caller sees, by its format. A citation has the text that it belongs to. */
interface Shown {
	text: string;
	queries?: string[];
	pages?: string[];
	citations: { text: string; url: string; title: string }[];
}
interface Format {
	path(stream: boolean): string;
	body: object;
	tool: object;
	whole(answer: never): Shown;
	streamed(text: string): Shown;
}

const QUESTION = "Do Durable Objects have storage?";
const messages = [{ role: "user", content: QUESTION }];
type Place = { start_index: number; end_index: number; url: string; title: string };
const citedIn = (text: string, { start_index, end_index, url, title }: Place) => ({
	text: text.slice(start_index, end_index),
	url,
	title,
});

interface ChatPart {
	content?: string | null;
	annotations?: { url_citation: Place }[];
}
function shownChat(parts: readonly ChatPart[]): Shown {
	const text = parts.map(({ content }) => content ?? "").join("");
	const sent = parts.flatMap(({ annotations }) => annotations ?? []);
	return { text, citations: sent.map(({ url_citation }) => citedIn(text, url_citation)) };
}

interface Item {
	type: string;
	action?: { query: string; sources?: { url: string }[] };
	content?: { text: string; annotations: Place[] }[];
}
function shownItems(items: readonly Item[]): Shown {
	const parts = items.flatMap(({ type, content }) => (type === "message" ? (content ?? []) : []));
	const actions = items.flatMap(({ action }) => action ?? []);
	return {
		text: parts.map(({ text }) => text).join(""),
		queries: actions.map(({ query }) => query),
		pages: actions.flatMap(({ sources }) => (sources ?? []).map(({ url }) => url)),
		citations: parts.flatMap(({ text, annotations }) => annotations.map((place) => citedIn(text, place))),
	};
}

interface Block {
	type: string;
	text?: string;
	input?: { query: string };
	content?: { url: string }[] | { error_code: string };
	citations?: { url: string; title: string }[];
}
/** Anthropic's citations have no places: each belongs to its block. */
const shownBlocks = (sent: readonly Block[]): Shown => ({
	text: sent.map(({ text }) => text ?? "").join(""),
	queries: sent.flatMap(({ type, input }) => (type === "server_tool_use" && input ? input.query : [])),
	pages: sent.flatMap(({ content }) => (Array.isArray(content) ? content.map(({ url }) => url) : [])),
	citations: sent.flatMap(({ text = "", citations = [] }) =>
		citations.map(({ url, title }) => ({ text: text.includes(CITED) ? CITED : text, url, title })),
	),
});
function streamedBlocks(text: string): Shown {
	const built: Block[] = [];
	type Event = { type: string; content_block: Block; delta: Record<string, never> };
	for (const { type, content_block, delta } of dataOf<Event>(text)) {
		if (type === "content_block_start") built.push(structuredClone(content_block));
		const block = built.at(-1);
		if (type !== "content_block_delta" || !block) continue;
		if (delta.text) block.text = (block.text ?? "") + delta.text;
		if (delta.citation) block.citations = [...(block.citations ?? []), delta.citation];
		if (delta.partial_json) block.input = JSON.parse(delta.partial_json);
	}
	return shownBlocks(built);
}

interface Candidate {
	content: { parts: { text?: string; thought?: boolean }[] };
	groundingMetadata?: {
		webSearchQueries: string[];
		groundingChunks: { web: { uri: string; title: string } }[];
		groundingSupports: {
			segment: { startIndex: number; endIndex: number };
			groundingChunkIndices: number[];
		}[];
	};
}
function shownCandidates(sent: readonly Candidate[]): Shown {
	const text = sent.flatMap(({ content }) => content.parts.map((each) => each.text ?? "")).join("");
	const bytes = new TextEncoder().encode(text);
	const all = sent.flatMap(({ groundingMetadata }) => groundingMetadata ?? []);
	return {
		text,
		queries: all.flatMap(({ webSearchQueries }) => webSearchQueries),
		pages: all.flatMap(({ groundingChunks }) => groundingChunks.map(({ web }) => web.uri)),
		citations: all.flatMap(({ groundingSupports, groundingChunks }) =>
			groundingSupports.map(({ segment, groundingChunkIndices: [index = -1] }) => ({
				text: new TextDecoder().decode(bytes.subarray(segment.startIndex, segment.endIndex)),
				url: String(groundingChunks[index]?.web.uri),
				title: String(groundingChunks[index]?.web.title),
			})),
		),
	};
}

const FORMATS = {
	chat: {
		path: () => "/v1/chat/completions",
		body: { messages },
		tool: { web_search_options: {} },
		whole: ({ choices }: { choices: { message: ChatPart }[] }) =>
			shownChat(choices.map((each) => each.message)),
		streamed(text) {
			expect(text).not.toContain('"web_search"');
			return shownChat(
				dataOf<{ choices: { delta: ChatPart }[] }>(text).flatMap(({ choices }) =>
					choices.map(({ delta }) => delta),
				),
			);
		},
	},
	Responses: {
		path: () => "/v1/responses",
		body: { input: QUESTION, include: ["web_search_call.action.sources"] },
		tool: { tools: [{ type: "web_search" }] },
		whole: (answer: { output: Item[] }) => shownItems(answer.output),
		streamed: (text) =>
			shownItems(dataOf<{ response: { output: Item[] } }>(text).at(-1)?.response.output ?? []),
	},
	Messages: {
		path: () => "/v1/messages",
		body: { max_tokens: 100, messages },
		tool: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
		whole: ({ content }: { content: Block[] }) => shownBlocks(content),
		streamed: streamedBlocks,
	},
	Gemini: {
		path: (stream) =>
			`/v1beta/models/acme%2Fassistant-1:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		body: { contents: [{ role: "user", parts: [{ text: QUESTION }] }] },
		tool: { tools: [{ googleSearch: {} }] },
		whole: ({ candidates }: { candidates: Candidate[] }) => shownCandidates(candidates),
		streamed: (text) =>
			shownCandidates(dataOf<{ candidates: Candidate[] }>(text).flatMap(({ candidates }) => candidates)),
	},
} satisfies Record<string, Format>;
type FormatName = keyof typeof FORMATS;

const bodyOf = (name: FormatName, fields: object) => ({
	model: "acme/assistant-1",
	...FORMATS[name].body,
	...fields,
});

const FOREIGN: [FormatName, ProviderName][] = [
	["chat", "OpenAI"],
	["Messages", "OpenAI"],
	["Gemini", "OpenAI"],
	["chat", "Anthropic"],
	["Responses", "Anthropic"],
	["Gemini", "Anthropic"],
];
const OWN_TOOL: Record<ProviderName, object> = {
	OpenAI: { type: "web_search" },
	Anthropic: { type: "web_search_20250305", name: "web_search" },
};

describe("a search tool of a caller of another format", () => {
	it.each(FOREIGN)("is the provider's own, whole and streamed: %s at %s", async (name, provider) => {
		const format: Format = FORMATS[name];
		for (const stream of [false, true]) {
			const { post, sent } = providerGateway(provider);
			const body = bodyOf(name, { ...format.tool, ...(stream && name !== "Gemini" && { stream }) });
			const answer = await post(format.path(stream), body);
			const text = await answer.text();
			expect(answer.status, text).toBe(200);
			expect(answer.headers.get("x-ganglion-dropped")).toBeNull();
			const shown = stream ? format.streamed(text) : format.whole(JSON.parse(text) as never);
			const searches = name === "chat" ? {} : { queries: QUERIES, pages: [PAGE.url] };
			expect(shown).toEqual({ text: TEXT, ...searches, citations: [{ text: CITED, ...PAGE }] });
			expect(sent().map(({ tools }) => tools)).toEqual([[OWN_TOOL[provider]]]);
		}
	});

	it("has the settings of the caller", async () => {
		const location = { city: "Paris", region: "Île-de-France", country: "FR", timezone: "Europe/Paris" };
		const user_location = { type: "approximate", ...location };
		const tool = { ...OWN_TOOL.Anthropic, max_uses: 3, blocked_domains: ["example.org"], user_location };
		const { post, sent } = providerGateway("OpenAI");
		const choice = { type: "tool", name: "web_search" };
		expect(
			(await post("/v1/messages", bodyOf("Messages", { tools: [tool], tool_choice: choice }))).status,
		).toBe(200);
		expect(sent()[0]).toMatchObject({
			tools: [{ type: "web_search", filters: { blocked_domains: ["example.org"] }, user_location }],
			tool_choice: { type: "web_search" },
			max_tool_calls: 3,
		});
		const other = providerGateway("Anthropic");
		const filters = { allowed_domains: ["example.com", "example.org"], blocked_domains: ["example.org"] };
		const tools = [{ type: "web_search", filters, user_location }];
		const forced = bodyOf("Responses", { tools, tool_choice: { type: "web_search" } });
		expect((await other.post("/v1/responses", forced)).status).toBe(200);
		expect(other.sent()[0]).toMatchObject({
			tools: [{ ...OWN_TOOL.Anthropic, allowed_domains: ["example.com"], user_location }],
			tool_choice: { type: "tool", name: "web_search" },
		});
	});

	it("goes beside functions, and a request for chat with it goes to Responses", async () => {
		const { post, sent } = providerGateway("OpenAI");
		const read = { name: "read_file", parameters: { type: "object", properties: {} } };
		const fields = { web_search_options: {}, tools: [{ type: "function", function: read }] };
		expect((await post("/v1/chat/completions", bodyOf("chat", fields))).status).toBe(200);
		expect(sent()[0]?.tools).toMatchObject([{ type: "function", name: "read_file" }, { type: "web_search" }]);
		const other = providerGateway("Anthropic");
		const tools = [{ functionDeclarations: [read] }, { googleSearch: {} }];
		expect((await other.post(FORMATS.Gemini.path(false), bodyOf("Gemini", { tools }))).status).toBe(200);
		expect(other.sent()[0]?.tools).toMatchObject([{ name: "read_file" }, OWN_TOOL.Anthropic]);
	});

	it("is left out and named beside a function of its name, and for a model without it", async () => {
		const { post, sent } = providerGateway("Anthropic");
		const named = { name: "web_search", parameters: { type: "object", properties: {} } };
		const fields = { web_search_options: {}, tools: [{ type: "function", function: named }] };
		const answer = await post("/v1/chat/completions", bodyOf("chat", fields));
		expect(answer.headers.get("x-ganglion-dropped")).toBe("web_search_options");
		expect(sent()[0]?.tools).toMatchObject([{ name: "web_search", input_schema: named.parameters }]);
		const ROUTES = { "acme/assistant-1": { targets: [{ backend: "own", model: "gpt-4.1-nano" }] } };
		const other = providerGateway("OpenAI", { ROUTES });
		const refused = await other.post("/v1/messages", bodyOf("Messages", FORMATS.Messages.tool));
		expect(refused.status, await refused.clone().text()).toBe(200);
		expect(refused.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
		expect(other.sent()[0]?.tools).toBeUndefined();
	});

	it("is a part of the next turn with the reasoning before it", async () => {
		const { post, sent } = providerGateway("OpenAI");
		const first = await post(
			"/v1/messages",
			bodyOf("Messages", { ...FORMATS.Messages.tool, thinking: { type: "adaptive" } }),
		);
		const { content } = await first.json<{ content: Block[] }>();
		const next = [...messages, { role: "assistant", content }, { role: "user", content: "Why?" }];
		const fields = { ...FORMATS.Messages.tool, thinking: { type: "adaptive" }, messages: next };
		const second = await post("/v1/messages", bodyOf("Messages", fields));
		expect(second.status, await second.clone().text()).toBe(200);
		const { input = [] } = sent()[1] ?? {};
		const from = input.findIndex(({ type }) => type === "reasoning");
		const { id: _, ...sealed } = reasoning;
		expect(input.slice(from, from + 2)).toEqual([sealed, searchItem]);
	});

	it("is the gateway's if a search provider is configured", async () => {
		const { post, sent } = providerGateway("Anthropic", {
			WEB_SEARCH: { "in-house": { kind: "searxng", url: "http://searx.lan" } },
		});
		await post("/v1/responses", bodyOf("Responses", FORMATS.Responses.tool));
		expect(sent()[0]?.tools).toMatchObject([{ name: "web_search", input_schema: { type: "object" } }]);
	});
});
