/** Messages for a server that speaks Messages: the kind of the backend decides, and not the name of the model. */
import { describe, expect, it } from "vitest";
import { completion, testGateway, upstream } from "../../gateway.ts";

const USER = { role: "user", content: "Hi" };
const BREAK = { cache_control: { type: "ephemeral", ttl: "1h" } };
/** Features that the common chat format lacks. */
const FEATURES = {
	system: [{ type: "text", text: "Be short.", ...BREAK }],
	tools: [
		{ type: "web_search_20260318", name: "web_search", max_uses: 2, ...BREAK },
		{ type: "code_execution_20250825", name: "code_execution" },
		{ type: "memory_20250818", name: "memory" },
		{ type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
		{ name: "look", input_schema: { type: "object" }, defer_loading: true, input_examples: [{}] },
	],
	mcp_servers: [{ type: "url", url: "https://mcp.example/sse", name: "tiny" }],
	messages: [
		{ role: "user", content: [{ type: "container_upload", file_id: "file_1" }] },
		{
			role: "assistant",
			content: [
				{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } },
				{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
				{ type: "text", text: "b", citations: [] },
			],
		},
		{
			role: "user",
			content: [
				{ type: "search_result", source: "s", title: "t", content: [{ type: "text", text: "u" }] },
				{ type: "document", source: { type: "file", file_id: "file_2" }, citations: { enabled: true } },
			],
		},
	],
	thinking: { type: "adaptive", display: "updates" },
	output_config: { effort: "max", task_budget: { type: "tokens", total: 9 } },
	context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
	container: { skills: [] },
	metadata: { user_id: "u" },
	service_tier: "auto",
	speed: "fast",
	max_tokens: 64,
};

const REPLY = {
	id: "msg_1",
	type: "message",
	role: "assistant",
	model: "claude-opus-5-5",
	content: [
		{ type: "server_tool_use", id: "srvtoolu_2", name: "web_search", input: { query: "c" } },
		{ type: "web_search_tool_result", tool_use_id: "srvtoolu_2", content: [] },
		{
			type: "text",
			text: "Hello.",
			citations: [{ type: "web_search_result_location", url: "https://a.example" }],
		},
	],
	stop_reason: "pause_turn",
	stop_sequence: null,
	usage: { input_tokens: 11, output_tokens: 3, server_tool_use: { web_search_requests: 1 } },
};

function gateway(targets: object[]) {
	const claude = upstream((request) =>
		request.url.startsWith("https://claude") ? Response.json(REPLY) : Response.json(completion("Hello.")),
	);
	const vars = {
		BACKENDS: {
			claude: { kind: "anthropic", url: "https://claude.example" },
			engine: { kind: "openai", url: "https://engine.example/v1" },
		},
		ROUTES: { "*": targets },
	};
	const { app, base } = { ...testGateway({ vars, fetch: claude.fetch }), base: "/client/v4/accounts/acc/ai" };
	const post = (body: object, headers: Record<string, string> = {}) =>
		app.request(`${base}/v1/messages`, {
			method: "POST",
			headers: { "content-type": "application/json", ...headers },
			body: JSON.stringify(body),
		});
	return { post, requests: claude.requests };
}

describe("a server that speaks Messages", () => {
	it.each(["claude-opus-5-5", "claude-haiku-5-5", "claude-kimi", "fast", "anthropic/claude-opus-5.5"])(
		"gets the complete request for %s, and its answer is unchanged",
		async (model) => {
			const { post, requests } = gateway([{ backend: "claude", model: "claude-opus-5-5" }]);
			const betas = "context-management-2025-06-27,web-search-2026-03-18";
			const response = await post({ ...FEATURES, model }, { "anthropic-beta": betas });
			expect(response.status).toBe(200);
			expect(response.headers.get("x-ganglion-dropped")).toBeNull();
			expect(await response.json()).toMatchObject({
				content: REPLY.content,
				stop_reason: "pause_turn",
				usage: { server_tool_use: { web_search_requests: 1 } },
			});
			const [request] = requests;
			expect(request?.headers.get("anthropic-beta")).toBe(betas);
			expect(await request?.json()).toEqual({ ...FEATURES, model: "claude-opus-5-5", stream: false });
		},
	);

	it("gets the messages that set an effort or change the tools, also where a result is missing", async () => {
		const { post, requests } = gateway([{ backend: "claude", model: "claude-opus-5-5" }]);
		const effort = { role: "system", content: [], output_config: { effort: "max" } };
		const change = {
			role: "system",
			content: [
				{ type: "text", text: "Changed." },
				{
					type: "tool_addition",
					tool: { type: "tool_definition", definition: { name: "look", input_schema: { type: "object" } } },
				},
			],
			clear_at: "next_user_message",
		};
		const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
		const messages = [USER, change, effort, { role: "assistant", content: [call] }];
		const fields = {
			model: "claude-opus-5-5",
			max_tokens: 64,
			thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
		};
		const answered = {
			role: "user",
			content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "18" }],
		};
		await post({ ...fields, messages: [...messages, answered, effort] });
		await post({ ...fields, messages: [...messages, USER, effort] });
		const [complete, repaired] = await Promise.all(
			requests.map((request) => request.json<{ messages: { role: string }[]; tools?: object }>()),
		);
		const sent = [{ role: "user", content: [{ type: "text", text: "Hi" }] }, ...messages.slice(1)];
		expect(complete).toEqual({ ...fields, messages: [...sent, answered, effort], stream: false });
		expect(repaired?.messages.slice(0, 4)).toEqual(sent);
		expect(repaired?.messages[4]).toMatchObject({ role: "user", content: [{ type: "tool_result" }, {}] });
		expect(repaired?.messages[5]).toEqual(effort);
		expect(repaired).not.toHaveProperty("tools");
	});

	it("is the only target of several for content that the others lack", async () => {
		const { post, requests } = gateway([{ backend: "engine" }, { backend: "claude" }]);
		const response = await post({ ...FEATURES, model: "claude-opus-5-5" });
		expect(response.headers.get("x-ganglion-backend")).toBe("claude");
		expect(requests).toHaveLength(1);
	});
});

describe("a server that speaks OpenAI's chat", () => {
	it("answers a request with Anthropic's tools alone, and the header names them", async () => {
		const { post, requests } = gateway([{ backend: "engine" }]);
		const { tools, mcp_servers } = FEATURES;
		const response = await post(
			{ model: "claude-opus-5-5", max_tokens: 64, messages: [USER], tools: tools.slice(0, 4), mcp_servers },
			{ "anthropic-beta": "web-search-2026-03-18" },
		);
		expect(response.status).toBe(200);
		expect(response.headers.get("x-ganglion-dropped")).toBe(
			"mcp_servers, tools.web_search, tools.code_execution, tools.memory, tools.tool_search_tool_bm25",
		);
		const [request] = requests;
		expect(request?.headers.get("anthropic-beta")).toBeNull();
		expect(await request?.json()).not.toHaveProperty("tools");
	});

	it("is named with what it lacks, also if another target speaks Messages", async () => {
		const { post } = gateway([{ backend: "engine" }, { backend: "claude" }]);
		const response = await post({
			model: "claude-opus-5-5",
			max_tokens: 64,
			messages: [USER],
			tools: FEATURES.tools.slice(0, 1),
		});
		expect(response.headers.get("x-ganglion-backend")).toBe("engine");
		expect(response.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
	});

	it("refuses content that it lacks", async () => {
		const { post } = gateway([{ backend: "engine" }]);
		const response = await post({ ...FEATURES, model: "claude-opus-5-5" });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			error: {
				type: "invalid_request_error",
				message:
					'Invalid input: messages[2].content[1].source.type: expected "base64", "text" or "content", found "file"',
			},
		});
	});
});
