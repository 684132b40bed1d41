import { describe, expect, it } from "vitest";
import { ANTHROPIC_KEY, anthropic, SIGNATURE } from "./anthropic/index.ts";
import { ENGINE_MODEL, engine } from "./engine.ts";
import { hostFetch } from "./fetch.ts";
import { GOOGLE_KEY, google } from "./google/index.ts";
import { OPENAI_KEY, openai } from "./openai/index.ts";
import type { Host, Script } from "./script.ts";

const HELLO: Script = () => ({ kind: "text", pieces: ["Hello ", "there."] });
const HEADERS: Readonly<Record<string, string>> = {
	authorization: `Bearer ${OPENAI_KEY}`,
	"x-api-key": ANTHROPIC_KEY,
	"anthropic-version": "2023-06-01",
	"x-goog-api-key": GOOGLE_KEY,
};
const post = (host: Host, path: string, body: object, script = HELLO, headers = HEADERS) =>
	hostFetch(host, script)(`http://host${path}`, { method: "POST", headers, body: JSON.stringify(body) });

const user = (content: string) => ({ role: "user", content });
const HI = [user("Hi")];
const WEATHER = { type: "function", name: "weather", parameters: { type: "object", properties: {} } };
const CHAT_WEATHER = { type: "function", function: { name: "weather", parameters: WEATHER.parameters } };
const OPEN = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const CALL = { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" };
const OUTPUT = { type: "function_call_output", call_id: "call_1", output: "18 degrees" };
const REASONING = { type: "reasoning", id: "rs_1", summary: [] };

const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const MESSAGES = "/v1/messages";
const CLAUDE = { model: "claude-opus-5-5", max_tokens: 2048, messages: HI };
const GENERATE = "/v1beta/models/gemini-3.8-flash:generateContent";
const SAY_HI = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };

describe("scripted hosts", () => {
	it.each<[string, Host, string, object, number, string]>([
		[
			"tools on chat completions while the model reasons",
			openai,
			CHAT,
			{ model: "gpt-5.6-sol", messages: HI, tools: [CHAT_WEATHER] },
			400,
			"Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions",
		],
		[
			"tools on chat completions with gpt-6-astra",
			openai,
			CHAT,
			{ model: "gpt-6-astra", messages: HI, tools: [CHAT_WEATHER] },
			400,
			"Function tools with reasoning_effort",
		],
		[
			"tools with an explicit effort on gpt-5.5",
			openai,
			CHAT,
			{ model: "gpt-5.5", messages: HI, tools: [CHAT_WEATHER], reasoning_effort: "low" },
			400,
			"Function tools with reasoning_effort",
		],
		[
			"an effort that the model does not have",
			openai,
			CHAT,
			{ model: "gpt-6.1-sol", messages: HI, reasoning_effort: "none" },
			400,
			"'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', 'high', 'xhigh'.",
		],
		[
			"a temperature of a reasoning model",
			openai,
			CHAT,
			{ model: "gpt-6-luna", messages: HI, temperature: 0 },
			400,
			"Unsupported parameter: 'temperature' is not supported with this model.",
		],
		[
			"max_tokens of a reasoning model",
			openai,
			CHAT,
			{ model: "gpt-5.5", messages: HI, max_tokens: 99 },
			400,
			"Use 'max_completion_tokens' instead.",
		],
		[
			"an unknown field",
			openai,
			CHAT,
			{ model: "gpt-5.5", messages: [{ ...user("Hi"), reasoning_content: "" }] },
			400,
			"Unknown parameter: 'messages[0].reasoning_content'.",
		],
		[
			"an unknown model",
			openai,
			CHAT,
			{ model: "gpt-7", messages: HI },
			404,
			"The model `gpt-7` does not exist",
		],
		[
			"an image in a result of a tool",
			openai,
			CHAT,
			{
				model: "gpt-4o",
				messages: [
					user("Hi"),
					{ role: "tool", tool_call_id: "c", content: [{ type: "image_url", image_url: { url: "data:," } }] },
				],
			},
			400,
			"messages[1].content",
		],
		[
			"a result without its call",
			openai,
			CHAT,
			{ model: "gpt-4o", messages: [user("Hi"), { role: "tool", tool_call_id: "c", content: "x" }] },
			400,
			"must be a response to a preceding message",
		],
		[
			"a strict schema that is open",
			openai,
			CHAT,
			{
				model: "gpt-5.5",
				messages: HI,
				response_format: { type: "json_schema", json_schema: { name: "person", strict: true, schema: OPEN } },
			},
			400,
			"'additionalProperties' is required to be supplied and to be false.",
		],
		[
			"reasoning without its content",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), REASONING, CALL, OUTPUT] },
			400,
			"Item with id 'rs_1' not found.",
		],
		[
			"reasoning of another host",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), { ...REASONING, encrypted_content: SIGNATURE }, CALL, OUTPUT] },
			400,
			"could not be verified",
		],
		[
			"reasoning without what follows it",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [{ ...REASONING, encrypted_content: "gAAAA1" }, user("Hi")] },
			400,
			"without its required following item",
		],
		[
			"an output without its call",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), OUTPUT] },
			400,
			"No tool call found for function call output with call_id call_1.",
		],
		[
			"a call without its output",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), CALL] },
			400,
			"No tool output found for function call call_1.",
		],
		[
			"a reference to an item that is not stored",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), { type: "item_reference", id: "msg_1" }] },
			400,
			"Item with id 'msg_1' not found.",
		],
		[
			"too few output tokens",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: "Hi", max_output_tokens: 1 },
			400,
			"max_output_tokens",
		],
		[
			"temperature with top_p",
			anthropic,
			MESSAGES,
			{ ...CLAUDE, model: "claude-sonnet-4-5", temperature: 1, top_p: 1 },
			400,
			"cannot both be specified",
		],
		[
			"a temperature of the newest models",
			anthropic,
			MESSAGES,
			{ ...CLAUDE, temperature: 1 },
			400,
			"not supported for this model",
		],
		[
			"a request without max_tokens",
			anthropic,
			MESSAGES,
			{ model: "claude-opus-5-5", messages: HI },
			400,
			"max_tokens: Field required",
		],
		[
			"a foreign signature",
			anthropic,
			MESSAGES,
			{
				...CLAUDE,
				messages: [
					user("Hi"),
					{ role: "assistant", content: [{ type: "thinking", thinking: "", signature: "x" }] },
					user("Hi"),
				],
			},
			400,
			"Invalid `signature` in `thinking` block",
		],
		[
			"a field of a beta without the beta",
			anthropic,
			MESSAGES,
			{
				...CLAUDE,
				thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
			},
			400,
			"thinking.adaptive.block_binding: Extra inputs are not permitted",
		],
		[
			"an effort in the conversation without the beta",
			anthropic,
			MESSAGES,
			{ ...CLAUDE, messages: [...HI, { role: "system", content: [], output_config: { effort: "high" } }] },
			400,
			"messages.1.output_config: Extra inputs are not permitted",
		],
		[
			"a change of the tools without the beta",
			anthropic,
			MESSAGES,
			{
				...CLAUDE,
				messages: [
					...HI,
					{
						role: "system",
						content: [{ type: "tool_removal", tool: { type: "tool_reference", name: "weather" } }],
					},
				],
			},
			400,
			"messages.1.content.0.tool: Extra inputs are not permitted",
		],
		[
			"an empty system message",
			anthropic,
			MESSAGES,
			{ ...CLAUDE, messages: [...HI, { role: "system", content: [] }] },
			400,
			"a system message needs content or output_config",
		],
		[
			"a budget of the newest models",
			anthropic,
			MESSAGES,
			{ ...CLAUDE, thinking: { type: "enabled", budget_tokens: 1024 } },
			400,
			'Use \\"thinking.type.adaptive\\"',
		],
		[
			"a call without its signature",
			google,
			GENERATE,
			{
				contents: [
					...SAY_HI.contents,
					{ role: "model", parts: [{ functionCall: { name: "weather", args: {} } }] },
					{ role: "user", parts: [{ functionResponse: { name: "weather", response: {} } }] },
				],
			},
			400,
			"missing a thought_signature",
		],
		[
			"an unknown field of Gemini",
			google,
			GENERATE,
			{ ...SAY_HI, cache: true },
			400,
			'Unknown name \\"cache\\": Cannot find field.',
		],
		[
			"an unknown model of Gemini",
			google,
			"/v1beta/models/gemini-1:generateContent",
			SAY_HI,
			404,
			"models/gemini-1 is not found",
		],
		[
			"a system message in the middle",
			engine,
			CHAT,
			{ model: ENGINE_MODEL, messages: [user("Hi"), { role: "system", content: "Be short." }] },
			400,
			"System message must be at the beginning.",
		],
		[
			"the role developer",
			engine,
			CHAT,
			{ model: ENGINE_MODEL, messages: [{ role: "developer", content: "Be short." }] },
			400,
			"messages[0].role",
		],
	])("refuse %s", async (_, host, path, body, status, sentence) => {
		const response = await post(host, path, body);
		expect(response.status).toBe(status);
		expect(await response.text()).toContain(sentence);
	});

	it.each(["mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"])(
		"accept an effort in the conversation with the beta %s",
		async (beta) => {
			const effort = { role: "system", content: [], output_config: { effort: "high" } };
			const body = { ...CLAUDE, messages: [...HI, effort] };
			const headers = { ...HEADERS, "anthropic-beta": beta };
			expect((await post(anthropic, MESSAGES, body, HELLO, headers)).status).toBe(200);
		},
	);

	it.each<[string, Host, string, object]>([
		[
			"tools on chat completions with effort none",
			openai,
			CHAT,
			{ model: "gpt-6-luna", messages: HI, tools: [CHAT_WEATHER], reasoning_effort: "none", temperature: 0 },
		],
		[
			"tools on chat completions with gpt-5.5",
			openai,
			CHAT,
			{ model: "gpt-5.5", messages: HI, tools: [CHAT_WEATHER] },
		],
		[
			"tools on responses",
			openai,
			RESPONSES,
			{ model: "gpt-6-astra", input: "Hi", tools: [WEATHER], reasoning: { effort: "max" } },
		],
		[
			"sealed reasoning before its call",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: [user("Hi"), { ...REASONING, encrypted_content: "gAAAA1" }, CALL, OUTPUT] },
		],
		["adaptive thinking", anthropic, MESSAGES, { ...CLAUDE, thinking: { type: "adaptive" } }],
		[
			"a signed call",
			google,
			GENERATE,
			{
				contents: [
					...SAY_HI.contents,
					{
						role: "model",
						parts: [
							{ functionCall: { name: "weather", args: {} }, thoughtSignature: "c2lnLW9mLWdlbWluaQ==" },
						],
					},
					{ role: "user", parts: [{ functionResponse: { name: "weather", response: {} } }] },
				],
			},
		],
		[
			"unknown fields of an engine",
			engine,
			CHAT,
			{ model: ENGINE_MODEL, messages: HI, repetition_penalty: 1 },
		],
	])("accept %s", async (_, host, path, body) => {
		const response = await post(host, path, body);
		expect(await response.text()).toContain("Hello there.");
		expect(response.status).toBe(200);
	});

	it.each<[string, Host, string, object, string]>([
		["chat completions", openai, CHAT, { model: "gpt-5.5", messages: HI, stream: true }, "data: [DONE]"],
		[
			"responses",
			openai,
			RESPONSES,
			{ model: "gpt-5.5", input: "Hi", stream: true },
			"event: response.completed",
		],
		["messages", anthropic, MESSAGES, { ...CLAUDE, stream: true }, "event: message_stop"],
		[
			"generateContent",
			google,
			"/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
			SAY_HI,
			'"finishReason":"STOP"',
		],
		["an engine", engine, CHAT, { model: ENGINE_MODEL, messages: HI, stream: true }, "data: [DONE]"],
	])("stream %s", async (_, host, path, body, end) => {
		const response = await post(host, path, body);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		const text = await response.text();
		expect(text).toContain('"Hello "');
		expect(text).toContain('"there."');
		expect(text).toContain(end);
	});

	it("answer a script's failures in their own words", async () => {
		const limited: Script = () => ({ kind: "failure", failure: "rate limit" });
		const response = await post(openai, CHAT, { model: "gpt-5.5", messages: HI }, limited);
		expect(response.status).toBe(429);
		expect(response.headers.get("retry-after")).toBe("1");
		expect(await response.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
	});

	it("refuse another key", async () => {
		const response = await post(openai, CHAT, { model: "gpt-5.5", messages: HI }, HELLO, {});
		expect(response.status).toBe(401);
	});
});
