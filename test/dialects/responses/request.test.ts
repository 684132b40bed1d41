import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { chatModel, KIMI, KIMI_CODE, LEGACY, LLAMA, SCOUT, VISION } from "../chat/chat.ts";
import { answered, completion, contextOf, jsonOf, readChat } from "./fixtures.ts";

const messagesOf = (input: unknown): ChatInput["messages"] => readChat({ input }).messages;

function refusal(body: object): string {
	try {
		readChat({ input: "hi", ...body });
	} catch (error) {
		if (error instanceof AiError && error.key === "invalidInput")
			return error.description.replace("Invalid input: ", "");
		throw error;
	}
	throw new Error("the request was accepted");
}

const call = (call_id: string, name = "look", args = "{}") => ({
	type: "function_call",
	id: "fc_1",
	call_id,
	name,
	arguments: args,
	status: "completed",
});
const toolCall = (id: string, name = "look", args = "{}") => ({
	id,
	type: "function",
	function: { name, arguments: args },
});
const thought = (text: string) => ({
	type: "reasoning",
	id: "rs_1",
	summary: [],
	content: [{ type: "reasoning_text", text }],
});

describe("input", () => {
	it("reads a string as a user message, after the instructions", () => {
		expect(readChat({ input: "hi" })).toEqual({ messages: [{ role: "user", content: "hi" }], stream: false });
		expect(readChat({ input: "hi", instructions: "Be brief.", stream: true })).toEqual({
			messages: [
				{ role: "system", content: "Be brief." },
				{ role: "user", content: "hi" },
			],
			stream: true,
		});
	});

	it("reads messages, with and without their type", () => {
		expect(
			messagesOf([
				{ role: "developer", content: "Be brief." },
				{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
				{
					type: "message",
					id: "msg_1",
					role: "assistant",
					status: "completed",
					content: [{ type: "output_text", text: "hello", annotations: [] }],
				},
				{ role: "system", content: [] },
			]),
		).toEqual([
			{ role: "developer", content: "Be brief." },
			{ role: "user", content: "hi" },
			{ role: "assistant", content: "hello" },
			{ role: "system", content: "" },
		]);
	});

	it("reads every type of part", () => {
		const content = [
			{ type: "input_text", text: "what is it?" },
			{ type: "input_image", image_url: "data:image/png;base64,AA==", detail: "low" },
			{ type: "input_image", image_url: "https://example.com/a.png", detail: "original" },
			{ type: "input_image", image_url: "https://example.com/b.png" },
			{ type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
			{ type: "input_file", file_data: "data:application/pdf;base64,AA==", filename: "a.pdf" },
		];
		expect(messagesOf([{ role: "user", content }])).toEqual([
			{
				role: "user",
				content: [
					{ type: "text", text: "what is it?" },
					{ type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } },
					{ type: "image_url", image_url: { url: "https://example.com/a.png", detail: "high" } },
					{ type: "image_url", image_url: { url: "https://example.com/b.png" } },
					{ type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
					{ type: "file", file: { file_data: "data:application/pdf;base64,AA==", filename: "a.pdf" } },
				],
			},
		]);
		const refused = { role: "assistant", content: [{ type: "refusal", refusal: "no" }] };
		expect(messagesOf([refused])).toEqual([
			{ role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
		]);
	});

	it("merges consecutive assistant items into one message, so that results follow their calls", () => {
		const items = [
			{ role: "user", content: "look twice" },
			thought("two looks"),
			{ role: "assistant", content: "Looking." },
			call("call_1", "look", '{"at":1}'),
			call("call_2", "look", '{"at":2}'),
			{ type: "function_call_output", call_id: "call_1", output: "a cat" },
			{ type: "function_call_output", call_id: "call_2", output: [{ type: "input_text", text: "a dog" }] },
			thought("now I know"),
			{ role: "assistant", content: "A cat and a dog." },
			{ role: "user", content: "thanks" },
		];
		expect(messagesOf(items)).toEqual([
			{ role: "user", content: "look twice" },
			{
				role: "assistant",
				content: "Looking.",
				reasoning_content: "two looks",
				tool_calls: [toolCall("call_1", "look", '{"at":1}'), toolCall("call_2", "look", '{"at":2}')],
			},
			{ role: "tool", tool_call_id: "call_1", content: "a cat" },
			{ role: "tool", tool_call_id: "call_2", content: "a dog" },
			{ role: "assistant", content: "A cat and a dog.", reasoning_content: "now I know" },
			{ role: "user", content: "thanks" },
		]);
	});

	it("reads calls without text, text after calls, and reasoning between calls", () => {
		const output = { type: "function_call_output", call_id: "call_1", output: "x" };
		expect(messagesOf([call("call_1"), output])[0]).toEqual({
			role: "assistant",
			content: null,
			tool_calls: [toolCall("call_1")],
		});
		expect(messagesOf([call("call_1"), { role: "assistant", content: "Looking." }, output])[0]).toEqual({
			role: "assistant",
			content: "Looking.",
			tool_calls: [toolCall("call_1")],
		});
		expect(messagesOf([thought("a"), call("call_1"), thought("b"), call("call_2"), output])[0]).toEqual({
			role: "assistant",
			content: null,
			reasoning_content: "a\nb",
			tool_calls: [toolCall("call_1"), toolCall("call_2")],
		});
	});

	it("keeps two assistant messages separate", () => {
		const two = [
			{ role: "assistant", content: "one" },
			{ role: "assistant", content: "two" },
		];
		expect(messagesOf(two)).toEqual(two);
	});

	it("reads a summary in place of missing reasoning, and drops reasoning without text or calls", () => {
		const summary = [{ type: "summary_text", text: "in short" }];
		const items = [
			{ type: "reasoning", id: "rs_1", summary, encrypted_content: "gAAA" },
			{ role: "assistant", content: "yes" },
			{ type: "reasoning", id: "rs_2", summary },
			{ role: "user", content: "why?" },
		];
		expect(messagesOf(items)).toEqual([
			{
				role: "assistant",
				content: "yes",
				reasoning_content: "in short",
				thinking_blocks: [{ type: "thinking", thinking: "in short", signature: "gAAA" }],
			},
			{ role: "user", content: "why?" },
		]);
	});

	it.each([
		[[{ type: "computer_call", call_id: "a" }], "input: there is no message in it"],
		[
			[
				{ role: "user", content: "a" },
				{ type: "function_call_output", call_id: "a", output: "1" },
			],
			"input[1].call_id: no call before it has this id",
		],
		[
			[{ role: "user", content: [{ type: "input_video", url: "x" }] }],
			'input[0].content[0].type: "input_video" is not supported',
		],
		[
			[{ role: "user", content: [{ type: "input_image", file_id: "file-1" }] }],
			"input[0].content[0].image_url: expected a URL; no file can be stored here",
		],
		[
			[{ role: "user", content: [{ type: "input_file", file_url: "https://example.com" }] }],
			"input[0].content[0].file_data: expected the file; none can be fetched or stored here",
		],
		[
			[{ type: "function_call", name: "look", arguments: "{}" }],
			"input[0].call_id: expected text, found nothing",
		],
		[
			[{ role: "tool", content: "x" }],
			'input[0].role: expected "user", "assistant", "system" or "developer", found "tool"',
		],
		[[], "input: there is no message in it"],
		[[thought("hm")], "input: there is no message in it"],
	])("refuses %j", (input, description) => {
		expect(refusal({ input })).toBe(description);
	});

	it("refuses a reference to an item that nothing has replaced by the stored item", () => {
		expect(refusal({ input: [{ type: "item_reference", id: "msg_1" }] })).toBe(
			'input[0].type: "item_reference" is not supported',
		);
	});

	it("does not repeat the caller's content in an error", () => {
		const secret = "the launch code is 0000";
		expect(
			refusal({ input: [{ role: "user", content: [{ type: "input_text", text: [secret] }] }] }),
		).not.toContain("0000");
	});
});

describe("fields", () => {
	it("reads sampling, limits and effort under chat's names", () => {
		const { messages, ...rest } = readChat({
			input: "hi",
			model: "@cf/test/chat",
			max_output_tokens: 100,
			temperature: 0.5,
			top_p: 0.9,
			top_logprobs: 2,
			include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
			reasoning: { effort: "low", summary: "auto" },
			text: { format: { type: "text" }, verbosity: "low" },
			user: "u1",
			prompt_cache_key: "k1",
			safety_identifier: "s1",
			metadata: { a: "b" },
			store: true,
			service_tier: "flex",
			truncation: "auto",
			stream_options: { include_obfuscation: false },
		});
		expect(rest).toEqual({
			stream: false,
			max_tokens: 100,
			temperature: 0.5,
			top_p: 0.9,
			logprobs: true,
			top_logprobs: 2,
			reasoning_effort: "low",
			reasoning_summary: "auto",
			user: "u1",
			passthrough: { verbosity: "low", safety_identifier: "s1", prompt_cache_key: "k1" },
		});
	});

	it("reads null as absent", () => {
		const nothing = {
			instructions: null,
			stream: null,
			max_output_tokens: null,
			temperature: null,
			top_p: null,
			tools: null,
			tool_choice: null,
			parallel_tool_calls: null,
			reasoning: null,
			text: null,
			include: null,
			metadata: null,
			user: null,
			store: null,
			background: null,
			previous_response_id: null,
			conversation: null,
			prompt: null,
			truncation: null,
			service_tier: null,
		};
		expect(readChat({ input: "hi", ...nothing })).toEqual(readChat({ input: "hi" }));
	});

	it.each(["none", "minimal", "medium", "high", "xhigh", "max"])("reads the effort %s", (effort) => {
		expect(readChat({ input: "hi", reasoning: { effort } }).reasoning_effort).toBe(effort);
	});

	it("reads formats of text", () => {
		const formatOf = (format: object) => readChat({ input: "hi", text: { format } }).response_format;
		const schema = { type: "object", properties: { a: { type: "string" } } };
		expect(formatOf({ type: "text" })).toBeUndefined();
		expect(formatOf({ type: "json_object" })).toEqual({ type: "json_object" });
		expect(formatOf({ type: "json_schema", name: "a", schema, strict: true, description: "d" })).toEqual({
			type: "json_schema",
			json_schema: { name: "a", schema, strict: true, description: "d" },
		});
	});

	it.each([
		["previous_response_id", "resp_1"],
		["conversation", "conv_1"],
		["conversation", { id: "conv_1" }],
		["prompt", { id: "pmpt_1" }],
		["background", true],
	])("refuses %s, which requires stored responses", (field, value) => {
		expect(refusal({ [field]: value })).toBe(
			`${field}: not supported here, only POST /v1/responses knows stored objects`,
		);
		expect(readChat({ input: "hi", background: false }).messages).toHaveLength(1);
	});
});

describe("tool calls in the history", () => {
	it("have the engine's tool names", () => {
		const { messages, dropped } = readChat({
			input: [
				{ role: "user", content: "hi" },
				{ ...call("a", "get__size", '{"x":1}'), namespace: "files" },
				{ type: "custom_tool_call", id: "ctc_1", call_id: "b", name: "patch", input: 'a "b"\n' },
				{
					type: "function_call_output",
					id: "fco_1",
					call_id: "a",
					output: [{ type: "input_text", text: "42" }],
				},
				{ type: "custom_tool_call_output", call_id: "b", output: "done" },
			],
		});
		expect(messages).toEqual([
			{ role: "user", content: "hi" },
			{
				role: "assistant",
				content: null,
				tool_calls: [
					toolCall("a", "files__get__size", '{"x":1}'),
					toolCall("b", "patch", '{"input":"a \\"b\\"\\n"}'),
				],
			},
			{ role: "tool", tool_call_id: "a", content: "42" },
			{ role: "tool", tool_call_id: "b", content: "done" },
		]);
		expect(dropped).toBeUndefined();
	});

	it("are read as function calls for tools with their own item types", () => {
		expect(
			messagesOf([
				{
					type: "local_shell_call",
					id: "ls_1",
					call_id: "a",
					status: "completed",
					action: { command: ["ls"] },
				},
				{ type: "local_shell_call_output", id: "a", output: "x.txt" },
				{ type: "shell_call", id: "sh_1", call_id: "b", action: { commands: ["ls"] } },
				{ type: "shell_call_output", call_id: "b", output: [{ stdout: "x.txt", stderr: "" }] },
			]),
		).toEqual([
			{
				role: "assistant",
				content: null,
				tool_calls: [toolCall("a", "local_shell", '{"command":["ls"]}')],
			},
			{ role: "tool", tool_call_id: "a", content: "x.txt" },
			{
				role: "assistant",
				content: null,
				tool_calls: [toolCall("b", "shell", '{"commands":["ls"]}')],
			},
			{ role: "tool", tool_call_id: "b", content: '[{"stdout":"x.txt","stderr":""}]' },
		]);
	});

	it("are dropped for tools that OpenAI hosts", () => {
		const { messages, dropped } = readChat({
			input: [
				{ role: "user", content: "hi" },
				{ type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
				{ type: "mcp_list_tools", id: "mcpl_1", server_label: "x", tools: [] },
				{ role: "assistant", content: "Found." },
			],
			tools: [{ type: "web_search" }],
		});
		expect(messages).toEqual([
			{ role: "user", content: "hi" },
			{ role: "assistant", content: "Found." },
		]);
		expect(dropped).toEqual(["tools.web_search", "input.web_search_call", "input.mcp_list_tools"]);
	});
});

describe("fields that OpenAI validates", () => {
	const pairs = (count: number) =>
		Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

	it.each([
		[{ include: [1] }, "/include/0"],
		[{ service_tier: "gold" }, "/service_tier"],
		[{ metadata: pairs(17) }, "/metadata"],
		[{ metadata: { key: "v".repeat(513) } }, "/metadata/key"],
	])("refuses %j", (body, place) => {
		const description = (() => {
			try {
				readChat({ input: "hi", ...body });
			} catch (error) {
				if (error instanceof AiError && error.key === "badInput") return error.description;
				throw error;
			}
			throw new Error("the request was accepted");
		})();
		expect(description).toContain(`'${place}'`);
	});

	it("accepts the values that OpenAI accepts", () => {
		const body = {
			include: ["reasoning.encrypted_content"],
			service_tier: "flex",
			metadata: pairs(16),
		};
		expect(readChat({ input: "hi", ...body }).messages).toEqual([{ role: "user", content: "hi" }]);
	});
});

describe("tools", () => {
	const parameters = { type: "object", properties: {} };
	const lookTool = { type: "function", name: "look", description: "Looks.", parameters, strict: true };
	const nod = { type: "function", name: "nod", parameters: null, strict: null };

	it("reads functions", () => {
		expect(readChat({ input: "hi", tools: [lookTool, nod] }).tools).toEqual([
			{ type: "function", function: { name: "look", description: "Looks.", parameters, strict: true } },
			{ type: "function", function: { name: "nod" } },
		]);
	});

	it.each([
		["none", "none"],
		["auto", "auto"],
		["required", "required"],
		[
			{ type: "function", name: "look" },
			{ type: "function", function: { name: "look" } },
		],
		[
			{ type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "nod" }] },
			{
				type: "allowed_tools",
				allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "nod" } }] },
			},
		],
	])("reads the choice %j", (tool_choice, expected) => {
		const chat = readChat({ input: "hi", tools: [lookTool, nod], tool_choice, parallel_tool_calls: false });
		expect(chat.tool_choice).toEqual(expected);
		expect(chat.parallel_tool_calls).toBe(false);
	});

	it("sends no choice without tools", () => {
		expect(readChat({ input: "hi", tools: [], tool_choice: "auto", parallel_tool_calls: true })).toEqual(
			readChat({ input: "hi" }),
		);
	});

	it.each([
		"web_search",
		"web_search_preview_2025_03_11",
		"file_search",
		"code_interpreter",
		"computer_use_preview",
		"mcp",
		"image_generation",
		"tool_search",
	])("drops %s, which no engine here has", (type) => {
		const chat = readChat({
			input: "hi",
			tools: [lookTool, { type, name: "x" }, { type }],
			tool_choice: "auto",
		});
		expect(chat.tools).toHaveLength(1);
		expect(chat.tool_choice).toBe("auto");
		expect(chat.dropped).toEqual([`tools.${type}`]);
	});

	it("flattens namespaces", () => {
		const chat = readChat({
			input: "hi",
			tools: [
				lookTool,
				{
					type: "namespace",
					name: "mcp__tiny",
					description: "Tools.",
					tools: [
						{ type: "function", name: "add", strict: false, parameters },
						{ type: "custom", name: "get__weather" },
						{ type: "web_search" },
					],
				},
			],
			tool_choice: { type: "function", namespace: "mcp__tiny", name: "add" },
		});
		expect(chat.tools?.map((tool) => tool.function.name)).toEqual([
			"look",
			"mcp__tiny__add",
			"mcp__tiny__get__weather",
		]);
		expect(chat.tools?.[1]).toEqual({
			type: "function",
			function: { name: "mcp__tiny__add", strict: false, parameters },
		});
		expect(chat.tool_choice).toEqual({ type: "function", function: { name: "mcp__tiny__add" } });
		expect(chat.dropped).toEqual(["tools.web_search"]);
	});

	it("shortens long names with a hash, equally in tools, choice and history", () => {
		const name = "x".repeat(70);
		const chat = readChat({
			input: [
				{ role: "user", content: "hi" },
				{ ...call("a", name), namespace: "ns" },
			],
			tools: [{ type: "namespace", name: "ns", tools: [{ type: "function", name }] }],
			tool_choice: { type: "function", namespace: "ns", name },
		});
		// `sha256sum` of `ns__` and 70 times `x`.
		const short = `ns__${"x".repeat(51)}_bf9b0a9e`;
		expect(chat.tools?.[0]?.function.name).toBe(short);
		expect(short).toHaveLength(64);
		expect(chat.tool_choice).toEqual({ type: "function", function: { name: short } });
		expect(chat.messages[1]?.tool_calls).toEqual([toolCall("a", short)]);
	});

	it("reads a custom tool as a function with one text parameter", () => {
		const format = { type: "grammar", syntax: "lark", definition: "start: /a+/" };
		const tools = [{ type: "custom", name: "patch", description: "Patches.", format }];
		expect(readChat({ input: "hi", tools, tool_choice: { type: "custom", name: "patch" } })).toMatchObject({
			tools: [
				{
					type: "function",
					function: {
						name: "patch",
						description: "Patches.",
						parameters: {
							type: "object",
							properties: {
								input: {
									type: "string",
									description: "The whole input of the tool. It must match this Lark grammar:\nstart: /a+/",
								},
							},
							required: ["input"],
							additionalProperties: false,
						},
					},
				},
			],
			tool_choice: { type: "function", function: { name: "patch" } },
		});
	});

	it.each([
		[
			[
				{ type: "function", name: "a__b" },
				{ type: "namespace", name: "a", tools: [{ type: "function", name: "b" }] },
			],
			"tools[1].tools[0].name: tools[0] has the same name for the engine, a__b",
		],
		[
			[
				{ type: "function", name: "a" },
				{ type: "custom", name: "a" },
			],
			"tools[1].name: tools[0] has the same name for the engine, a",
		],
		[
			[{ type: "function", name: "get weather" }],
			"tools[0].name: expected text that matches /^[a-zA-Z0-9_-]{1,128}$/, found another text",
		],
		[
			[{ type: "namespace", name: "a", tools: [{ type: "function", name: "b", parameters: 1 }] }],
			"tools[0].tools[0].parameters: expected an object, found a number",
		],
	])("refuses the names of %j", (tools, description) => {
		expect(refusal({ tools })).toBe(description);
	});

	it("drops several tools, in the request's order, and then the choice", () => {
		const tools = [{ type: "web_search" }, { type: "mcp", server_label: "x" }];
		const chat = readChat({ input: "hi", tools, tool_choice: "auto" });
		expect(chat).toEqual({ ...readChat({ input: "hi" }), dropped: ["tools.web_search", "tools.mcp"] });
		expect(readChat({ input: "hi", tools: [lookTool] })).not.toHaveProperty("dropped");
	});

	it("names the automatic compaction, which only OpenAI's service has", () => {
		const context_management = [{ type: "compaction", compact_threshold: 100_000 }];
		expect(readChat({ input: "hi", context_management })).toMatchObject({ dropped: ["context_management"] });
		expect(readChat({ input: "hi", context_management: null })).not.toHaveProperty("dropped");
	});

	it.each([
		[
			{ tools: [{ type: "web_search" }], tool_choice: "required" },
			'tools[0].type: "web_search" is not supported',
		],
		[
			{ tools: [lookTool, { type: "web_search" }], tool_choice: { type: "web_search" } },
			'tool_choice.type: "web_search" is not supported',
		],
		[
			{
				tools: [lookTool, { type: "web_search" }],
				tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "web_search" }] },
			},
			'tool_choice.tools[0].type: "web_search" is not supported',
		],
	])("refuses the forced tool of %j, which no engine has", (body, description) => {
		expect(refusal(body)).toBe(description);
	});

	it("keeps the other allowed tools, or chooses none", () => {
		const tools = [lookTool, nod, { type: "web_search" }];
		const allowed = (...names: object[]) =>
			readChat({ input: "hi", tools, tool_choice: { type: "allowed_tools", mode: "auto", tools: names } })
				.tool_choice;
		expect(allowed({ type: "web_search" }, { type: "function", name: "nod" })).toEqual({
			type: "allowed_tools",
			allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "nod" } }] },
		});
		expect(allowed({ type: "web_search" })).toBe("none");
	});

	it("reads a tool of an unknown type with a name and parameters as a function", () => {
		const { tools, dropped } = readChat({ input: "hi", tools: [{ ...lookTool, type: "fnction" }] });
		expect(tools).toEqual(readChat({ input: "hi", tools: [lookTool] }).tools);
		expect(dropped).toBeUndefined();
		expect(refusal({ tools: [{ type: "web search" }] })).toBe('tools[0].type: "web search" is not supported');
	});

	it.each([
		[{ tools: [{ type: "function" }] }, "tools[0].name: expected text, found nothing"],
		[{ tools: [{ ...lookTool, description: false }] }, "tools[0].description: expected text, found false"],
		[
			{ tools: [lookTool], tool_choice: { type: "mcp", server_label: "x" } },
			'tool_choice.type: "mcp" is not supported',
		],
		[
			{ tools: [lookTool], tool_choice: { type: "function", name: "nod" } },
			"tool_choice names a function that is not among the tools",
		],
	])("refuses %j", (body, description) => {
		expect(refusal(body)).toBe(description);
	});
});

describe("a model's own schema", () => {
	const GPT = chatModel("gpt-oss-20b");

	it("has the defaults, which the response repeats", () => {
		expect(readChat({ input: "hi" }, LLAMA)).toMatchObject({ max_tokens: 256, temperature: 0.6 });
		expect(readChat({ input: "hi" }, KIMI)).toMatchObject({ temperature: 1, top_p: 1 });
		expect(readChat({ input: "hi", max_output_tokens: 5, temperature: 0 }, LLAMA)).toMatchObject({
			max_tokens: 5,
			temperature: 0,
		});
		const context = contextOf({ input: "hi" }, LLAMA);
		expect(jsonOf(responses.writer.write(answered(completion({ content: "Hi" })), context))).toMatchObject({
			max_output_tokens: 256,
			temperature: 0.6,
		});
	});

	it("has no default limit for gpt-oss", () => {
		expect(readChat({ input: "hi" }, GPT)).toEqual({
			messages: [{ role: "user", content: "hi" }],
			stream: false,
		});
	});

	it("drops an effort that the model does not support", () => {
		const thinks = { input: "hi", reasoning: { effort: "low" } };
		expect(readChat(thinks, KIMI)).toHaveProperty("reasoning_effort", "low");
		expect(readChat(thinks, KIMI_CODE)).not.toHaveProperty("reasoning_effort");
	});

	const withImages = (...images: string[]) => [
		{ role: "user", content: "hi" },
		{
			role: "user",
			content: [
				{ type: "input_text", text: "what?" },
				...images.map((image_url) => ({ type: "input_image", image_url })),
			],
		},
	];

	it.each([VISION, SCOUT])("requires data URIs: $id", (model) => {
		expect(readChat({ input: withImages("data:image/png;base64,AA") }, model).messages).toHaveLength(2);
		expect(() => readChat({ input: withImages("https://a/b.png") }, model)).toThrowError(
			"5006: Error: '/input/1/content/1/image_url' must be a data: URI",
		);
	});

	it.each(["http://a/b.png", "file:///etc/passwd", " https://a/b.png", "//a/b.png", "https:a"])(
		"refuses the URL %j",
		(address) => {
			expect(() => readChat({ input: withImages("https://a/b.png", address) }, KIMI)).toThrowError(
				"5006: Error: '/input/1/content/2/image_url' must be an https URL or a data URI",
			);
			const output = withImages(address)[1]?.content;
			expect(() =>
				readChat({ input: [call("a"), { type: "function_call_output", call_id: "a", output }] }, KIMI),
			).toThrowError("5006: Error: '/input/1/output/1/image_url' must be an https URL or a data URI");
		},
	);

	it("joins parts to one text for a text-only model", () => {
		const content = [
			{ type: "output_text", text: "one" },
			{ type: "refusal", refusal: "two" },
		];
		expect(readChat({ input: [{ role: "assistant", content }] }, LEGACY).messages).toEqual([
			{ role: "assistant", content: "one\ntwo" },
		]);
		expect(() => readChat({ input: withImages("data:image/png;base64,AA") }, LEGACY)).toThrowError(
			"5006: Error: '/input/1/content/1' must be text: the model takes no other",
		);
	});
});
