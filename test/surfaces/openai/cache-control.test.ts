/** Cache breakpoints reach the hosts that know them, from chat and from Messages. Other engines get plain text. */
import { describe, expect, it } from "vitest";
import { completion, testGateway, upstream } from "../../gateway.ts";

const BREAK = { cache_control: { type: "ephemeral" } };
const HOUR = { cache_control: { type: "ephemeral", ttl: "1h" } };
const text = (content: string, fields: object = {}) => ({ type: "text", text: content, ...fields });
const SCHEMA = { type: "object", properties: {} };

const MESSAGE = {
	id: "msg_1",
	type: "message",
	role: "assistant",
	model: "claude-opus-5-5",
	content: [text("Hello.")],
	stop_reason: "end_turn",
	stop_sequence: null,
	usage: { input_tokens: 11, output_tokens: 3 },
};

const BACKENDS = {
	claude: { kind: "anthropic", url: "https://claude.example" },
	openrouter: { kind: "openai", url: "https://openrouter.ai/api/v1" },
	engine: { kind: "openai", url: "https://engine.example/v1" },
	hosted: { kind: "openai", url: "https://api.openai.com/v1" },
};

/** The body that the backend gets. */
async function sentTo(backend: keyof typeof BACKENDS, path: string, body: object) {
	const { fetch, requests } = upstream(({ url }) =>
		Response.json(url.endsWith("/v1/messages") ? MESSAGE : completion("Hello.")),
	);
	const { post } = testGateway({ vars: { BACKENDS, ROUTES: { "*": [{ backend }] } }, fetch });
	const response = await post(path, { model: "claude-opus-5-5", max_tokens: 64, ...body });
	expect(response.status).toBe(200);
	expect(response.headers.get("x-ganglion-dropped")).toBeNull();
	return (await requests[0]?.json()) as { messages: unknown; tools?: unknown; system?: unknown };
}

describe("breakpoints in a chat", () => {
	const chat = {
		messages: [
			{ role: "system", content: [text("Be short."), text("A long manual.", HOUR)] },
			{ role: "user", content: [text("Hi", BREAK)] },
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
			},
			{ role: "tool", tool_call_id: "call_1", content: [text("It is red.", BREAK)] },
		],
		tools: [{ type: "function", function: { name: "look", parameters: SCHEMA }, ...BREAK }],
	};
	const send = (backend: keyof typeof BACKENDS) => sentTo(backend, "/v1/chat/completions", chat);

	it("reach Anthropic", async () => {
		const { messages, system, tools } = await send("claude");
		expect(system).toEqual([text("Be short."), text("A long manual.", HOUR)]);
		expect(messages).toEqual([
			{ role: "user", content: [text("Hi", BREAK)] },
			{ role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "look", input: {} }] },
			{
				role: "user",
				content: [{ type: "tool_result", tool_use_id: "call_1", content: "It is red.", ...BREAK }],
			},
		]);
		expect(tools).toEqual([{ name: "look", input_schema: SCHEMA, ...BREAK }]);
	});

	it("reach OpenRouter unchanged", async () => {
		const { messages, tools } = await send("openrouter");
		expect(messages).toEqual(chat.messages);
		expect(tools).toEqual(chat.tools);
	});

	it.each(["engine", "hosted"] as const)("are removed for %s", async (backend) => {
		const { messages, tools } = await send(backend);
		expect(messages).toEqual([
			{ role: "system", content: "Be short.\n\nA long manual." },
			{ role: "user", content: "Hi" },
			chat.messages[2],
			{ role: "tool", tool_call_id: "call_1", content: "It is red." },
		]);
		expect(tools).toEqual([{ type: "function", function: { name: "look", parameters: SCHEMA } }]);
	});

	it("are ignored if they have another form", async () => {
		const messages = [{ role: "user", content: [text("Hi", { cache_control: "yes" }), text("you")] }];
		const sent = await sentTo("openrouter", "/v1/chat/completions", { messages });
		expect(sent.messages).toEqual([{ role: "user", content: [text("Hi"), text("you")] }]);
	});
});

describe("breakpoints in a Messages request", () => {
	const request = {
		system: [text("Be short."), text("A long manual.", HOUR)],
		messages: [
			{ role: "user", content: [text("Hi"), text("you", BREAK)] },
			{ role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }] },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "toolu_1", content: "It is red.", ...BREAK },
					text("So?"),
				],
			},
		],
		tools: [{ name: "look", input_schema: SCHEMA, ...BREAK }],
	};
	const call = { id: "toolu_1", type: "function", function: { name: "look", arguments: "{}" } };

	it("reach OpenRouter on parts and tools", async () => {
		const { messages, tools } = await sentTo("openrouter", "/v1/messages", request);
		expect(messages).toEqual([
			{ role: "system", content: [text("Be short."), text("A long manual.", HOUR)] },
			{ role: "user", content: [text("Hi"), text("you", BREAK)] },
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: "toolu_1", content: [text("It is red.", BREAK)] },
			{ role: "user", content: "So?" },
		]);
		expect(tools).toEqual([{ type: "function", function: { name: "look", parameters: SCHEMA }, ...BREAK }]);
	});

	it("are removed for an engine", async () => {
		const { messages, tools } = await sentTo("engine", "/v1/messages", request);
		expect(messages).toEqual([
			{ role: "system", content: "Be short.\n\nA long manual." },
			{ role: "user", content: "Hi\nyou" },
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: "toolu_1", content: "It is red." },
			{ role: "user", content: "So?" },
		]);
		expect(tools).toEqual([{ type: "function", function: { name: "look", parameters: SCHEMA } }]);
	});
});

describe("a breakpoint of the whole request", () => {
	const request = { messages: [{ role: "user", content: "Hi" }] };

	it.each([
		["claude", "/v1/chat/completions"],
		["claude", "/v1/messages"],
		["openrouter", "/v1/chat/completions"],
		["openrouter", "/v1/messages"],
	] as const)("reaches %s from %s", async (backend, path) => {
		expect(await sentTo(backend, path, { ...request, ...HOUR })).toMatchObject(HOUR);
	});

	it.each(["engine", "hosted"] as const)("does not reach %s", async (backend) => {
		for (const path of ["/v1/chat/completions", "/v1/messages"])
			expect(await sentTo(backend, path, { ...request, ...BREAK })).not.toHaveProperty("cache_control");
	});
});
