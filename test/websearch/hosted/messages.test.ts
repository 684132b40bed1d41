/** Anthropic's `web_search_*` on `/v1/messages`, run by the gateway for a chat-only engine. */
import { describe, expect, it } from "vitest";
import {
	ANSWER,
	dataOf,
	type EngineRequest,
	SEARCH_CALL,
	searchesOnce,
	searchingGateway,
} from "./search-engine.ts";

interface Block {
	type: string;
	id?: string;
	text?: string;
	content?: { encrypted_content: string }[];
}
interface MessageBody {
	content: Block[];
	stop_reason: string;
	usage: object;
}
interface StreamEvent {
	type: string;
	content_block?: Block;
	delta?: { type?: string; partial_json?: string; stop_reason?: string };
	usage?: object;
}

const MODEL = "claude-opus-5-5";
const SEARCH = { type: "web_search_20250305", name: "web_search" };
const QUESTION = { role: "user", content: "Do Durable Objects have storage?" };
const REQUEST = { model: MODEL, max_tokens: 1024, messages: [QUESTION], tools: [SEARCH] };
const CITATION = {
	type: "web_search_result_location",
	url: "https://example.com/s",
	title: "SearXNG page",
	cited_text: "Text of S",
	encrypted_index: expect.stringMatching(/^ganglion-1\./),
};
const RESULTS = [
	{
		type: "web_search_result",
		url: "https://example.com/s",
		title: "SearXNG page",
		page_age: null,
		encrypted_content: expect.stringMatching(/^ganglion-1\./),
	},
	expect.objectContaining({ url: "https://evil.example.net/s" }),
];
const ID = expect.stringMatching(/^srvtoolu_gw_[0-9a-f]{32}$/);
const USE = {
	type: "server_tool_use",
	id: ID,
	name: "web_search",
	input: { query: "storage of Durable Objects" },
	caller: { type: "direct" },
};
const RESULT = {
	type: "web_search_tool_result",
	tool_use_id: ID,
	caller: { type: "direct" },
	content: RESULTS,
};

type Gateway = ReturnType<typeof searchingGateway>;
const send = async ({ post }: Gateway, body: object): Promise<MessageBody> => {
	const response = await post("/v1/messages", { ...REQUEST, ...body });
	expect(response.status).toBe(200);
	return response.json<MessageBody>();
};

describe("the answer", () => {
	it.each(["web_search_20250305", "web_search_20260209", "web_search_20260318"])(
		"to %s has its blocks",
		async (type) => {
			const answer = await send(searchingGateway(), { tools: [{ ...SEARCH, type }] });
			expect(answer.content).toEqual([USE, RESULT, { type: "text", text: ANSWER, citations: [CITATION] }]);
			expect(answer.content[1]).toHaveProperty("tool_use_id", answer.content[0]?.id);
			expect(answer.stop_reason).toBe("end_turn");
			expect(answer.usage).toMatchObject({
				input_tokens: 6,
				output_tokens: 4,
				server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
			});
		},
	);

	it("is streamed with Anthropic's events", async () => {
		const { post } = searchingGateway();
		const sent = dataOf<StreamEvent>(await (await post("/v1/messages", { ...REQUEST, stream: true })).text());
		expect(sent.map(({ type, content_block, delta }) => [type, content_block?.type ?? delta?.type])).toEqual([
			["message_start", undefined],
			["content_block_start", "server_tool_use"],
			["ping", undefined],
			["content_block_delta", "input_json_delta"],
			["content_block_stop", undefined],
			["content_block_start", "web_search_tool_result"],
			["content_block_stop", undefined],
			["content_block_start", "text"],
			["content_block_delta", "text_delta"],
			["content_block_delta", "citations_delta"],
			["content_block_stop", undefined],
			["message_delta", undefined],
			["message_stop", undefined],
		]);
		expect(sent[1]?.content_block).toEqual({ ...USE, input: {} });
		expect(sent[3]?.delta?.partial_json).toBe('{"query":"storage of Durable Objects"}');
		expect(sent[5]?.content_block).toEqual(RESULT);
		expect(sent[9]?.delta).toEqual({ type: "citations_delta", citation: CITATION });
		expect(sent[11]).toMatchObject({
			delta: { stop_reason: "end_turn" },
			usage: { input_tokens: 6, output_tokens: 4, server_tool_use: { web_search_requests: 1 } },
		});
	});

	it("has Anthropic's error codes in a successful answer", async () => {
		const twice = ({ messages }: EngineRequest) =>
			messages.filter(({ role }) => role === "tool").length < 2
				? { calls: [SEARCH_CALL] }
				: { text: "Done." };
		const answer = await send(searchingGateway(twice), { tools: [{ ...SEARCH, max_uses: 1 }] });
		const error = (error_code: string) => ({ type: "web_search_tool_result_error", error_code });
		expect(answer.content).toMatchObject([
			USE,
			RESULT,
			USE,
			{ content: error("max_uses_exceeded") },
			{ text: "Done." },
		]);
		expect(answer.usage).toMatchObject({ server_tool_use: { web_search_requests: 1 } });

		const unnamed = searchingGateway(({ messages }) =>
			messages.length > 1 ? { text: "Done." } : { calls: [{ name: "web_search", arguments: '{"q":"x"}' }] },
		);
		expect((await send(unnamed, {})).content).toMatchObject(
			[USE.type, RESULT.type, "text"].map((type) => ({ type })),
		);
		expect((await send(unnamed, {})).content[1]?.content).toEqual(error("invalid_tool_input"));

		const limited = searchingGateway(({ messages }) =>
			messages.length > 1
				? { text: "Done." }
				: { calls: [{ name: "web_search", arguments: '{"query":"limiter"}' }] },
		);
		expect((await send(limited, {})).content[1]?.content).toEqual(error("too_many_requests"));
	});

	it("searches only the allowed domains, or all but the blocked ones", async () => {
		const allowed = await send(searchingGateway(), {
			tools: [{ ...SEARCH, allowed_domains: ["example.com"] }],
		});
		expect(allowed.content[1]?.content).toEqual(RESULTS.slice(0, 1));
		const blocked = await send(searchingGateway(), {
			tools: [{ ...SEARCH, blocked_domains: ["example.net"] }],
		});
		expect(blocked.content[1]?.content).toEqual(RESULTS.slice(0, 1));
	});

	it("pauses after ten rounds, and goes on when it is sent back", async () => {
		let isTold = false;
		const gateway = searchingGateway(() => (isTold ? { text: "That is all." } : { calls: [SEARCH_CALL] }));
		const paused = await send(gateway, {});
		expect(paused.stop_reason).toBe("pause_turn");
		expect(paused.content).toHaveLength(20);
		isTold = true;
		const rest = await send(gateway, {
			messages: [QUESTION, { role: "assistant", content: paused.content }],
		});
		expect([rest.stop_reason, rest.content]).toEqual(["end_turn", [{ type: "text", text: "That is all." }]]);
		const { messages } = gateway.requests.at(-1) ?? { messages: [] };
		expect(messages.map(({ role }) => role).join(" ")).toBe(`user${" assistant tool".repeat(10)}`);
		expect(messages.at(-1)?.content).toContain("Text of S");
	});
});

describe("with tools of the caller", () => {
	const weather = { name: "get_weather", input_schema: { type: "object" } };
	const tools = [weather, SEARCH];
	const both = [SEARCH_CALL, { name: "get_weather", arguments: '{"city":"Oslo"}' }];
	const turn = ({ messages }: EngineRequest) =>
		messages.some(({ role }) => role === "tool") ? { text: ANSWER } : { calls: both };

	it.each([false, true])("the search runs in the next request, stream: %s", async (stream) => {
		const gateway = searchingGateway(turn);
		const first = await send(gateway, { tools });
		expect(first).toMatchObject({
			stop_reason: "tool_use",
			content: expect.arrayContaining([
				USE,
				expect.objectContaining({ type: "tool_use", name: "get_weather" }),
			]),
		});
		expect(first.content).toHaveLength(2);
		expect(gateway.searches).toEqual([]);

		const call = first.content.find(({ type }) => type === "tool_use");
		const use = first.content.find(({ type }) => type === "server_tool_use");
		const result = {
			role: "user",
			content: [{ type: "tool_result", tool_use_id: call?.id, content: "Rain" }],
		};
		const messages = [QUESTION, { role: "assistant", content: first.content }, result];
		const body = { ...REQUEST, tools, messages, stream };
		const response = await gateway.post("/v1/messages", body);
		const sent = stream
			? dataOf<StreamEvent>(await response.text()).flatMap(({ content_block }) => content_block ?? [])
			: (await response.json<MessageBody>()).content;
		expect(sent).toMatchObject([
			{ type: "web_search_tool_result", tool_use_id: use?.id, content: RESULTS },
			{ type: "text" },
		]);
		const roles = gateway.requests.at(-1)?.messages.map(({ role }) => role);
		expect(roles).toEqual(["user", "assistant", "tool", "tool"]);
		expect(gateway.searches).toHaveLength(1);
	});
});

describe("a later turn", () => {
	it("gives the model the searches of earlier answers, also without the tool", async () => {
		const gateway = searchingGateway();
		const { content } = await send(gateway, {});
		const messages = [QUESTION, { role: "assistant", content }, { role: "user", content: "Thank you." }];
		for (const tools of [[SEARCH], undefined]) {
			await send(gateway, { messages, tools });
			const sent = gateway.requests.at(-1)?.messages ?? [];
			expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
			expect(sent[1]).toMatchObject({
				tool_calls: [{ function: { name: "web_search", arguments: SEARCH_CALL.arguments } }],
			});
			expect(sent[2]?.content).toContain("SearXNG page\nURL: https://example.com/s\n  Text of S");
			expect(sent[3]?.content).toBe(ANSWER);
		}
	});

	it.each([
		[
			"a title has its address",
			{ url: "https://example.org/" },
			"[1] https://example.org/\nURL: https://example.org/\n",
		],
		["an address is left out", { title: "Elsewhere" }, "The search found no pages."],
	])("with a page without %s", async (_, page, text) => {
		const gateway = searchingGateway();
		const content = [
			{ type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: { query: "x" } },
			{ type: "web_search_tool_result", tool_use_id: "srvtoolu_01", content: [page] },
		];
		await send(gateway, {
			messages: [QUESTION, { role: "assistant", content }, { role: "user", content: "Why?" }],
		});
		const resultText = gateway.requests[0]?.messages[2]?.content;
		expect(resultText).toContain(text);
		expect(resultText).not.toContain("undefined");
	});

	it("of another gateway's or Anthropic's search has the titles and addresses", async () => {
		const gateway = searchingGateway();
		const content = [
			{ type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: { query: "x" } },
			{
				type: "web_search_tool_result",
				tool_use_id: "srvtoolu_01",
				content: [
					{
						type: "web_search_result",
						url: "https://example.org/",
						title: "Elsewhere",
						page_age: "April 30, 2026",
						encrypted_content: "EqgfCioIARgB",
					},
				],
			},
			{ type: "text", text: "So it is." },
		];
		await send(gateway, {
			messages: [QUESTION, { role: "assistant", content }, { role: "user", content: "Why?" }],
		});
		expect(gateway.requests[0]?.messages[2]?.content).toContain(
			"[1] Elsewhere\nURL: https://example.org/\nDate: April 30, 2026\n",
		);
	});
});

describe("Anthropic's own models", () => {
	const vars = {
		BACKENDS: { claude: { kind: "anthropic", key: "CLAUDE_KEY" } },
		ROUTES: { "claude-*": [{ backend: "claude" }], "*": [{ backend: "engine", model: "engine-model" }] },
		CLAUDE_KEY: "sk-ant-api03-secret",
	};

	it("receive the tool, and no results that the gateway has made", async () => {
		const forwarded: Record<string, unknown>[] = [];
		const gateway = searchingGateway(searchesOnce, {
			...vars,
			BACKENDS: { ...vars.BACKENDS, engine: { kind: "openai", url: "http://engine/v1" } },
		});
		const { fetch } = gateway.services;
		gateway.services.fetch = async (input, init) => {
			const request = new Request(input, init);
			if (new URL(request.url).host !== "api.anthropic.com") return fetch(input, init);
			const body = await request.json<Record<string, unknown>>();
			if (JSON.stringify(body).includes("ganglion-1."))
				return Response.json(
					{
						type: "error",
						error: {
							type: "invalid_request_error",
							message: "messages.1.content.1: Invalid `encrypted_content`",
						},
					},
					{ status: 400 },
				);
			forwarded.push(body);
			return Response.json({
				id: "msg_01",
				type: "message",
				role: "assistant",
				model: "claude-opus-5-5",
				content: [{ type: "text", text: "Yes." }],
				stop_reason: "end_turn",
				stop_sequence: null,
				usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 0 } },
			});
		};
		const own = await send(gateway, { model: "qwen3" });
		expect(own.content.map(({ type }) => type)).toEqual([
			"server_tool_use",
			"web_search_tool_result",
			"text",
		]);
		const messages = [
			QUESTION,
			{ role: "assistant", content: own.content },
			{ role: "user", content: "Thank you." },
		];
		const answer = await send(gateway, { messages });
		expect(answer.content).toEqual([{ type: "text", text: "Yes." }]);
		expect(forwarded).toMatchObject([
			{
				tools: [SEARCH],
				messages: [
					{ role: "user" },
					{ role: "assistant", content: [{ type: "text", text: ANSWER }] },
					{ role: "user" },
				],
			},
		]);
		expect(gateway.searches).toHaveLength(1);
	});
});
