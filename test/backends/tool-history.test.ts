/** Hosts that refuse a conversation with tool calls and without tools, as they refuse it. */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";

const CALL = { id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } };
const SECOND_CALL = { ...CALL, id: "call_2", function: { name: "get_time", arguments: "{}" } };
const MESSAGES = [
	{ role: "user", content: "Weather and time in Oslo?" },
	{ role: "assistant", content: null, tool_calls: [CALL, SECOND_CALL] },
	{ role: "tool", tool_call_id: "call_1", content: "4 degrees" },
	{ role: "tool", tool_call_id: "call_2", content: "noon" },
	{ role: "user", content: "Summarise the conversation." },
];
const LITELLM =
	"Anthropic doesn't support tool calling without `tools=` param specified. Pass `tools=` param OR set `litellm.modify_params = True` // `litellm_settings::modify_params: True` to add dummy tool to the request.";
const liteLlmError = (message: string) => ({
	error: { message: `litellm.UnsupportedParamsError: ${message}`, type: "None", param: null, code: "400" },
});
const NO_CHOICE =
	"Bedrock doesn't support tool_choice=none. Supported tool_choice values=['auto', 'required', json object]. To drop it from the call, set `litellm.drop_params = True.";

/** Real refusals, by the host that sends them. */
const REFUSALS = {
	"LiteLLM before Anthropic": liteLlmError(LITELLM),
	"LiteLLM before Bedrock": liteLlmError(LITELLM.replace("Anthropic", "Bedrock")),
	"Bedrock's gateway": {
		detail:
			"An error occurred (ValidationException) when calling the ConverseStream operation: The toolConfig field must be defined when using toolUse and toolResult content blocks.",
	},
	"a proxy of Anthropic": {
		error: {
			type: "invalid_request_error",
			message: "Requests which include `tool_use` or `tool_result` blocks must define tools",
		},
	},
};

interface ChatBody {
	model: string;
	messages: { tool_calls?: object[] }[];
	stream?: boolean;
	tools?: { function: { name: string; parameters: object } }[];
	tool_choice?: unknown;
}

const ANSWER = { role: "assistant", content: "It is cold." };
const reply = ({ model, stream }: ChatBody): Response => {
	const choice = { index: 0, finish_reason: "stop" };
	if (!stream)
		return Response.json({ id: "c", model, choices: [{ ...choice, message: ANSWER }], created: 1 });
	const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model };
	return new Response(
		`data: ${JSON.stringify({ ...chunk, choices: [{ ...choice, delta: ANSWER }] })}\n\ndata: [DONE]\n\n`,
		{ headers: { "content-type": "text/event-stream" } },
	);
};

let hosts = 0;

/** A gateway before a host that refuses calls without tools, and `tool_choice: "none"` if `takesNone` is false. */
function gatewayOf(refusal: object, { takesNone = true, model = "claude-opus-5-5" } = {}) {
	const { fetch, requests } = upstream(async (request) => {
		const body = await request.json<ChatBody>();
		if (body.tools && body.tool_choice === "none" && !takesNone)
			return Response.json(liteLlmError(NO_CHOICE), { status: 400 });
		const hasCalls = body.messages.some(({ tool_calls }) => tool_calls);
		return hasCalls && !body.tools ? Response.json(refusal, { status: 400 }) : reply(body);
	});
	const vars = {
		BACKENDS: { proxy: { kind: "openai", url: `http://litellm-${++hosts}.internal:4000/v1` } },
		ROUTES: { [model]: [{ backend: "proxy" }], "qwen3.8": [{ backend: "proxy" }] },
		MODELS: Object.fromEntries(
			[model, "qwen3.8"].map((id) => [
				id,
				{ task: "Text Generation", capabilities: ["function_calling", "reasoning"] },
			]),
		),
	};
	const gateway = testGateway({ vars, fetch });
	return {
		post: async (path: string, body: object) => {
			const response = await gateway.post(path, { model, ...body });
			return { status: response.status, text: await response.text() };
		},
		bodies: () => Promise.all(requests.map((request) => request.clone().json<ChatBody>())),
	};
}

const SURFACES = {
	chat: ["/v1/chat/completions", { messages: MESSAGES }],
	Messages: [
		"/v1/messages",
		{
			max_tokens: 100,
			messages: [
				{ role: "user", content: "Weather and time in Oslo?" },
				{
					role: "assistant",
					content: [
						{ type: "tool_use", id: "call_1", name: "get_weather", input: {} },
						{ type: "tool_use", id: "call_2", name: "get_time", input: {} },
					],
				},
				{
					role: "user",
					content: [
						{ type: "tool_result", tool_use_id: "call_1", content: "4 degrees" },
						{ type: "tool_result", tool_use_id: "call_2", content: "noon" },
						{ type: "text", text: "Summarise the conversation." },
					],
				},
			],
		},
	],
	Responses: [
		"/v1/responses",
		{
			store: false,
			input: [
				{ role: "user", content: "Weather and time in Oslo?" },
				{ type: "function_call", call_id: "call_1", name: "get_weather", arguments: "{}" },
				{ type: "function_call", call_id: "call_2", name: "get_time", arguments: "{}" },
				{ type: "function_call_output", call_id: "call_1", output: "4 degrees" },
				{ type: "function_call_output", call_id: "call_2", output: "noon" },
				{ role: "user", content: "Summarise the conversation." },
			],
		},
	],
} as const;
const SENT = { names: ["get_weather", "get_time"], types: ["object", "object"], choice: "none" };
const sentTools = ({ tools = [], tool_choice }: ChatBody) => ({
	names: tools.map(({ function: { name } }) => name),
	types: tools.map(({ function: { parameters } }) => (parameters as { type: string }).type),
	choice: tool_choice,
});

describe("a host that wants tools beside the calls of a conversation", () => {
	it.each(Object.entries(REFUSALS))("gets those that the conversation names: %s", async (_, refusal) => {
		const { post, bodies } = gatewayOf(refusal);
		const { status, text } = await post(...SURFACES.chat);
		expect([status, text]).toEqual([200, expect.stringContaining("It is cold.")]);
		const [first, second] = await bodies();
		expect(first && sentTools(first)).toEqual({ names: [], types: [], choice: undefined });
		expect(second && sentTools(second)).toEqual(SENT);
		expect(second?.messages).toEqual(first?.messages);
	});

	it.each(
		Object.entries(SURFACES).flatMap(([name, [path, body]]) =>
			[false, true].map((stream) => [name, stream, path, body] as const),
		),
	)("is asked once by callers of %s (stream: %s)", async (_, stream, path, body) => {
		const { post, bodies } = gatewayOf(REFUSALS["LiteLLM before Anthropic"]);
		for (const _request of [1, 2]) {
			const { status, text } = await post(path, { ...body, stream });
			expect([status, text]).toEqual([200, expect.stringContaining("It is cold.")]);
		}
		expect((await bodies()).map((sent) => sentTools(sent).names.length)).toEqual([0, 2, 2]);
	});

	it("without a choice to call none gets them without it, and that is learned, too", async () => {
		const { post, bodies } = gatewayOf(REFUSALS["LiteLLM before Bedrock"], { takesNone: false });
		for (const _request of [1, 2]) expect((await post(...SURFACES.chat)).status).toBe(200);
		expect((await bodies()).map((sent) => sentTools(sent).choice)).toEqual([
			undefined,
			"none",
			undefined,
			undefined,
		]);
		expect((await bodies()).map((sent) => sentTools(sent).names.length)).toEqual([0, 2, 2, 2]);
	});

	it("gets the tools of the request, if it has some", async () => {
		const tools = [{ type: "function", function: { name: "get_news", parameters: { type: "object" } } }];
		const { post, bodies } = gatewayOf(REFUSALS["LiteLLM before Anthropic"]);
		expect((await post(SURFACES.chat[0], { messages: MESSAGES, tools })).status).toBe(200);
		expect((await bodies()).map((sent) => sentTools(sent).names)).toEqual([["get_news"]]);
	});

	it("says nothing about other models of the backend, or conversations without calls", async () => {
		const { post, bodies } = gatewayOf(REFUSALS["LiteLLM before Anthropic"]);
		await post(...SURFACES.chat);
		await post(SURFACES.chat[0], { messages: [MESSAGES[0]] });
		await post(SURFACES.chat[0], { model: "qwen3.8", messages: MESSAGES });
		const sent = await bodies();
		expect(sent.map(({ model, tools = [] }) => [model, tools.length])).toEqual([
			["claude-opus-5-5", 0],
			["claude-opus-5-5", 2],
			["claude-opus-5-5", 0],
			["qwen3.8", 0],
			["qwen3.8", 2],
		]);
	});

	it("is not asked again for another reason", async () => {
		const { post, bodies } = gatewayOf(liteLlmError("Anthropic doesn't support the tools of this model"));
		expect((await post(...SURFACES.chat)).status).toBe(400);
		expect(await bodies()).toHaveLength(1);
	});
});
