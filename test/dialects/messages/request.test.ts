import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { Model } from "../../../src/models/model.ts";
import { CHAT_MODEL } from "../responses/fixtures.ts";
import { REQUEST, readChat, verbatimOf } from "./fixtures.ts";

const messagesOf = (messages: unknown[], fields: object = {}, model?: Model) =>
	readChat({ ...REQUEST, messages, ...fields }, model).messages;
const user = (...content: object[]) => ({ role: "user", content });
const assistant = (...content: object[]) => ({ role: "assistant", content });
const text = (content: string) => ({ type: "text", text: content });

const ANTHROPIC = { kind: "anthropic" };
const ENGINE = { kind: "openai" };

function refusal(body: object, model?: Model): { key: string; description: string } {
	try {
		readChat({ ...REQUEST, ...body }, model);
	} catch (error) {
		if (!(error instanceof AiError)) throw error;
		return { key: error.key, description: error.description };
	}
	throw new Error("the request was accepted");
}

describe("a request", () => {
	it("needs only a limit and a message", () => {
		expect(readChat(REQUEST)).toEqual({
			messages: [{ role: "user", content: "hi" }],
			stream: false,
			max_tokens: 100,
		});
	});

	it("has every field under chat's name, and drops fields without effect", () => {
		expect(
			readChat({
				...REQUEST,
				model: "@cf/test/chat",
				system: "Be short.",
				stream: true,
				temperature: 0.5,
				top_p: 0.9,
				top_k: 40,
				stop_sequences: ["END"],
				tools: [
					{
						name: "look",
						description: "Looks",
						input_schema: { type: "object" },
						cache_control: { type: "ephemeral" },
					},
				],
				tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
				thinking: { type: "enabled", budget_tokens: 2048 },
				output_config: { format: { type: "json_schema", schema: { type: "object" } } },
				metadata: { user_id: "u1" },
				service_tier: "auto",
				betas: ["a"],
			}),
		).toEqual({
			messages: [
				{ role: "system", content: "Be short." },
				{ role: "user", content: "hi" },
			],
			stream: true,
			max_tokens: 100,
			temperature: 0.5,
			top_p: 0.9,
			top_k: 40,
			stop: ["END"],
			tools: [
				{
					type: "function",
					function: { name: "look", description: "Looks", parameters: { type: "object" } },
					cache_control: { type: "ephemeral" },
				},
			],
			tool_choice: { type: "function", function: { name: "look" } },
			parallel_tool_calls: false,
			reasoning_effort: "low",
			reasoning_summary: "auto",
			response_format: {
				type: "json_schema",
				json_schema: { name: "response", schema: { type: "object" } },
			},
			user: "u1",
		});
	});

	it("has the model's defaults, except for the limit", () => {
		const model = { ...CHAT_MODEL, defaults: { max_tokens: 256, temperature: 0.6, top_k: 5, stream: true } };
		expect(readChat(REQUEST, model)).toMatchObject({
			max_tokens: 100,
			temperature: 0.6,
			top_k: 5,
			stream: true,
		});
		expect(refusal({ max_tokens: undefined }, model)).toEqual({
			key: "badInput",
			description: "Error: required properties at '/' are 'messages,max_tokens'",
		});
	});

	it.each([
		[{ type: "disabled" }, undefined, null],
		[{ type: "enabled", budget_tokens: 1024 }, undefined, "minimal"],
		[{ type: "enabled", budget_tokens: 2047 }, undefined, "minimal"],
		[{ type: "enabled", budget_tokens: 8191 }, undefined, "low"],
		[{ type: "enabled", budget_tokens: 8192 }, undefined, "medium"],
		[{ type: "enabled", budget_tokens: 64_000 }, "low", "high"],
		[{ type: "adaptive" }, undefined, "high"],
		[{ type: "adaptive", display: "omitted" }, "medium", "medium"],
		[{ type: "adaptive", display: "updates" }, "high", "high"],
		[{ type: "adaptive" }, "max", "max"],
		[{ type: "adaptive" }, "xhigh", "xhigh"],
		[undefined, "low", "low"],
		[undefined, undefined, undefined],
	])("with thinking %j and effort %s has the effort %s", (thinking, effort, expected) => {
		expect(readChat({ ...REQUEST, thinking, output_config: { effort } }).reasoning_effort).toBe(expected);
	});

	it("has the last effort that the conversation sets", () => {
		const effort = (level?: string) => ({ role: "system", output_config: { effort: level } });
		const fields = { thinking: { type: "adaptive" }, output_config: { effort: "low" } };
		const read = (...messages: object[]) =>
			readChat({ ...REQUEST, ...fields, messages: [user(text("hi")), ...messages] });
		const input = read(effort("max"), assistant(text("Hello.")), user(text("a")), effort("xhigh"), effort());
		expect(input.reasoning_effort).toBe("xhigh");
		expect(input.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
		expect(read(effort()).reasoning_effort).toBe("low");
		expect(refusal({ messages: [user(text("hi")), effort("huge")] })).toMatchObject({
			key: "badInput",
			description: expect.stringContaining("/messages/1/output_config/effort"),
		});
	});

	it("without thinking disables reasoning", () => {
		const thinker: Model = { ...CHAT_MODEL, capabilities: ["reasoning"] };
		const unknown: Model = { ...CHAT_MODEL, status: "adhoc" };
		for (const model of [thinker, unknown]) {
			expect(readChat(REQUEST, model).reasoning_effort).toBeNull();
			expect(readChat({ ...REQUEST, output_config: { effort: "high" } }, model).reasoning_effort).toBeNull();
			expect(readChat({ ...REQUEST, thinking: { type: "adaptive" } }, model).reasoning_effort).toBe("high");
		}
	});

	it.each([
		[{ max_tokens: 0 }, "badInput", "'/max_tokens' must be >= 1"],
		[{ temperature: 1.5 }, "badInput", "'/temperature' must be <= 1"],
		[{ messages: [] }, "badInput", "/messages"],
		[{ messages: [{ role: "tool", content: "a" }] }, "badInput", "/messages/0/role"],
		[{ messages: [user({})] }, "badInput", "/messages/0/content"],
		[{ thinking: { type: "enabled" } }, "badInput", "budget_tokens"],
		[
			{ messages: [user(text(" "))] },
			"invalidInput",
			"Invalid input: messages: no user or assistant message has content",
		],
		[
			{ tools: [{ type: "web_search_20250305", name: "web_search" }], tool_choice: { type: "any" } },
			"invalidInput",
			'Invalid input: tools[0].type: "web_search_20250305" is a tool of Anthropic\'s own, which this model does not have',
		],
		[
			{
				tools: [
					{ name: "a", input_schema: {} },
					{ type: "bash_20250124", name: "bash" },
				],
				tool_choice: { type: "tool", name: "bash" },
			},
			"invalidInput",
			'Invalid input: tools[1].type: "bash_20250124" is a tool of Anthropic\'s own',
		],
		[
			{ tools: [{ type: "function", function: { name: "a" } }] },
			"invalidInput",
			'Invalid input: tools[0].type: "function" is not supported',
		],
		[{ tools: [{ name: "a" }] }, "invalidInput", "Invalid input: tools[0].input_schema: "],
		[{ tool_choice: { type: "any" } }, "invalidInput", "Invalid input: tool_choice needs tools"],
		[
			{ tools: [{ name: "a", input_schema: {} }], tool_choice: { type: "tool", name: "b" } },
			"invalidInput",
			"Invalid input: tool_choice names a function that is not among the tools",
		],
		[
			{ messages: [user({ type: "search_result" })] },
			"invalidInput",
			"Invalid input: messages[0].content[0].source: expected text, found nothing",
		],
		[
			{ messages: [user({ type: "a b" })] },
			"invalidInput",
			'Invalid input: messages[0].content[0].type: "a b" is not supported',
		],
		[
			{ messages: [user({ type: "image", source: { type: "file", file_id: "f" } })] },
			"invalidInput",
			"Invalid input: messages[0].content[0].source.type: ",
		],
		[
			{ messages: [user({ type: "image", source: { type: "url", url: "http://a.test/b" } })] },
			"badInput",
			"Error: '/messages/0/content/0/source' must be an https URL or a data URI",
		],
	])("with %j is refused", (body, key, sentence) => {
		const error = refusal(body);
		expect(error.key).toBe(key);
		expect(error.description).toContain(sentence);
	});
});

describe("tools", () => {
	const namedTool = (name: string, fields: object = {}) => ({
		name,
		input_schema: { type: "object" },
		...fields,
	});
	const deferred = (name: string) => namedTool(name, { defer_loading: true });
	const toolsOf = (body: object, model?: Model) =>
		readChat({ ...REQUEST, ...body }, model).tools?.map((tool) => tool.function.name);

	it("of Anthropic's own are dropped and listed", () => {
		const tools = [
			namedTool("look"),
			{ type: "web_search_20250305", name: "web_search", max_uses: 8 },
			{ type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
			{ type: "web_search_20260209", name: "web_search" },
			{ type: "mcp_toolset", mcp_server_name: "tiny" },
		];
		const input = readChat({ ...REQUEST, tools, tool_choice: { type: "any" } });
		expect(input.tools?.map((tool) => tool.function.name)).toEqual(["look"]);
		expect(input.tool_choice).toBe("required");
		expect(input.dropped).toEqual(["tools.web_search", "tools.text_editor", "tools.mcp_toolset"]);
	});

	it("of Anthropic's own may be the only ones", () => {
		const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 };
		const input = readChat({ ...REQUEST, tools: [search], tool_choice: { type: "auto" } });
		expect(input).toEqual({ ...readChat(REQUEST), dropped: ["tools.web_search"] });
		const memory = { type: "memory", name: "memory" };
		expect(readChat({ ...REQUEST, tools: [memory], mcp_servers: [{}] }).dropped).toEqual([
			"mcp_servers",
			"tools.memory",
		]);
	});

	it("of an unknown type with a schema are the caller's", () => {
		expect(toolsOf({ tools: [namedTool("look", { type: "function" })] })).toEqual(["look"]);
	});

	it("are those that the conversation's changes leave", () => {
		const change = (type: string, tool: object) => ({ type, tool });
		const reference = (name: string) => ({ type: "tool_reference", name });
		const definition = (tool: object) => ({ type: "tool_definition", definition: tool });
		const tools = [namedTool("look"), namedTool("listen"), deferred("add"), deferred("placeholder")];
		const messages = [
			user(text("a")),
			{
				role: "system",
				content: [
					text("Changed."),
					change("tool_removal", reference("look")),
					change("tool_addition", reference("add")),
					change("tool_addition", definition(namedTool("smell", { description: "Smells" }))),
				],
			},
			assistant(text("b")),
			user(text("c")),
			{
				role: "system",
				content: [
					change("tool_removal", reference("smell")),
					change("tool_removal", reference("listen")),
					change("tool_addition", reference("listen")),
					change("tool_addition", definition(namedTool("add", { description: "Adds" }))),
					change("tool_addition", reference("unknown")),
				],
			},
		];
		const input = readChat({ ...REQUEST, tools, messages });
		expect(input.tools?.map((tool) => tool.function)).toEqual([
			{ name: "add", description: "Adds", parameters: { type: "object" } },
			{ name: "listen", parameters: { type: "object" } },
		]);
		expect(input.messages.map(({ role, content }) => [role, content])).toEqual([
			["user", "a"],
			["system", "Changed."],
			["assistant", "b"],
			["user", "c"],
		]);
		expect(input.dropped).toBeUndefined();
	});

	it.each([
		[
			{ type: "tool_addition", tool: { type: "tool_definition", definition: { name: "a" } } },
			"messages[1].content[0].tool.definition.input_schema",
		],
		[{ type: "tool_removal", tool: { type: "tool_reference" } }, "messages[1].content[0].tool.name"],
		[{ type: "tool_removal" }, "messages[1].content[0].tool"],
		[{ type: "mid_conv_other" }, 'messages[1].content[0].type: "mid_conv_other" is not supported'],
	])("refuse the change %j", (block, sentence) => {
		const messages = [user(text("a")), { role: "system", content: [block] }];
		expect(refusal({ messages })).toMatchObject({
			key: "invalidInput",
			description: expect.stringContaining(sentence),
		});
		// Anthropic checks what only it can read.
		expect(readChat({ ...REQUEST, messages }, undefined, [ANTHROPIC]).messages).toEqual([
			{ role: "user", content: "a" },
		]);
	});

	it("that are deferred are sent if the conversation refers to them", () => {
		const tools = [
			namedTool("ToolSearch"),
			deferred("DeferredToolPlaceholder"),
			deferred("mcp__tiny__add"),
			deferred("mcp__tiny__sub"),
			deferred("mcp__tiny__mul"),
		];
		const found = { type: "tool_reference", tool_name: "mcp__tiny__add" };
		const messages = [
			user(text("a")),
			assistant({ type: "tool_use", id: "t1", name: "ToolSearch", input: { query: "add" } }),
			user({ type: "tool_result", tool_use_id: "t1", content: [found] }),
		];
		expect(toolsOf({ tools })).toEqual(["ToolSearch"]);
		expect(toolsOf({ tools, messages })).toEqual(["ToolSearch", "mcp__tiny__add"]);
		expect(messagesOf(messages, { tools }).at(-1)).toEqual({
			role: "tool",
			tool_call_id: "t1",
			content: "Tool mcp__tiny__add is now available.",
		});
		const called = assistant({ type: "tool_use", id: "t2", name: "mcp__tiny__sub", input: {} });
		expect(
			toolsOf({
				tools,
				messages: [user(text("a")), called],
				tool_choice: { type: "tool", name: "mcp__tiny__mul" },
			}),
		).toEqual(["ToolSearch", "mcp__tiny__sub", "mcp__tiny__mul"]);
	});

	it("that are deferred are all sent if Anthropic would run the search", () => {
		const search = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" };
		const input = readChat({ ...REQUEST, tools: [search, namedTool("a"), deferred("b")] });
		expect(input.tools?.map((tool) => tool.function.name)).toEqual(["a", "b"]);
		expect(input.dropped).toEqual(["tools.tool_search_tool_regex"]);
	});
});

describe("the verbatim request", () => {
	const CLAUDE: Model = {
		...CHAT_MODEL,
		id: "anthropic/claude-opus-5-5",
		input: "messages",
		output: "messages",
	};
	const OWN: Model = { ...CHAT_MODEL, id: "claude-kimi" };

	it("is the unchanged body", () => {
		const body = {
			...REQUEST,
			system: [{ ...text("Be short."), cache_control: { type: "ephemeral" } }],
			messages: [user({ ...text("hi"), cache_control: { type: "ephemeral", ttl: "1h" } })],
			metadata: { user_id: "u", team: "t" },
			thinking: { type: "enabled", budget_tokens: 1024, new: 1 },
			context_management: { edits: [] },
		};
		expect(verbatimOf(body)).toEqual({ dialect: "anthropic", body, messages: 2 });
		for (const model of [CLAUDE, OWN])
			expect(verbatimOf(body, model)).toEqual({ dialect: "anthropic", body, messages: 2, complete: true });
	});

	it.each([
		[
			{ tools: [{ type: "web_search_20250305", name: "web_search" }], tool_choice: { type: "any" } },
			'tools[0].type: "web_search_20250305" is a tool of Anthropic\'s own, which this model does not have',
		],
		[
			{ messages: [user({ type: "container_upload", file_id: "f" })] },
			'messages[0].content[0].type: "container_upload" is not supported',
		],
		[
			{ messages: [user({ type: "image", source: { type: "file", file_id: "f" } })] },
			'messages[0].content[0].source.type: expected "base64" or "url", found "file"',
		],
	])("may have content that only Anthropic supports, if it may answer: %j", (body, sentence) => {
		const kept = { body, unconverted: sentence, complete: true };
		expect(verbatimOf({ ...REQUEST, ...body }, CLAUDE)).toMatchObject(kept);
		for (const model of [CHAT_MODEL, OWN]) {
			expect(verbatimOf({ ...REQUEST, ...body }, model, [ENGINE, ANTHROPIC])).toMatchObject(kept);
			expect(verbatimOf({ ...REQUEST, tools: [] }, model, [ANTHROPIC])).not.toHaveProperty("unconverted");
		}
	});

	it("does not restrict the engines for tools, calls and results of Anthropic's own", () => {
		const body = {
			tools: [{ type: "web_search_20250305", name: "web_search" }],
			mcp_servers: [{}],
			messages: [
				user(text("a")),
				assistant(
					{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
					{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
					text("b"),
				),
				user(text("c")),
			],
		};
		expect(verbatimOf({ ...REQUEST, ...body }, OWN, [ANTHROPIC])).not.toHaveProperty("unconverted");
		const { messages, dropped } = readChat({ ...REQUEST, ...body }, OWN, [ANTHROPIC, ENGINE]);
		expect(messages).toEqual([
			{ role: "user", content: "a" },
			{ role: "assistant", content: "b" },
			{ role: "user", content: "c" },
		]);
		expect(dropped).toEqual([
			"mcp_servers",
			"messages.server_tool_use",
			"messages.web_search_tool_result",
			"tools.web_search",
		]);
	});

	it("does not prevent reading the other tools", () => {
		const tools = [
			{ type: "web_search_20250305", name: "web_search" },
			{ name: "look", input_schema: {} },
		];
		expect(readChat({ ...REQUEST, tools }, CLAUDE).tools).toEqual([
			{ type: "function", function: { name: "look", parameters: {} } },
		]);
	});
});

describe("the messages", () => {
	it("have instructions as text or blocks, and merge consecutive roles", () => {
		expect(
			messagesOf(
				[
					{ role: "user", content: "a" },
					user(text("b"), text("c")),
					{ role: "assistant", content: "d" },
					assistant(text("e"), text("f")),
					{ role: "system", content: "g" },
					{ role: "user", content: "h" },
				],
				{ system: [text("One."), text(" "), text("Two.")] },
			),
		).toEqual([
			{ role: "system", content: "One.\n\nTwo." },
			{ role: "user", content: "a\nb\nc" },
			{ role: "assistant", content: "def" },
			{ role: "system", content: "g" },
			{ role: "user", content: "h" },
		]);
	});

	it("have thinking, calls and results in chat's form", () => {
		expect(
			messagesOf([
				{ role: "user", content: "weather?" },
				assistant(
					{ type: "thinking", thinking: "Hm.", signature: "s" },
					{ type: "thinking", thinking: " Well.", signature: "" },
					{ type: "redacted_thinking", data: "x" },
					text("Looking."),
					{ type: "tool_use", id: "t1", name: "get_weather", input: { city: "Paris" } },
					{ type: "tool_use", id: "t2", name: "get_time", input: {} },
				),
				user(
					text("There:"),
					{ type: "tool_result", tool_use_id: "t1", content: "18 degrees" },
					{ type: "tool_result", tool_use_id: "t2", content: [text("no clock")], is_error: true },
				),
				assistant({ type: "tool_use", id: "t3", name: "get_time", input: {} }),
				user({ type: "tool_result", tool_use_id: "t3" }),
			]),
		).toEqual([
			{ role: "user", content: "weather?" },
			{
				role: "assistant",
				content: "Looking.",
				reasoning_content: "Hm. Well.",
				thinking_blocks: [
					{ type: "thinking", thinking: "Hm.", signature: "s" },
					{ type: "redacted_thinking", data: "x" },
				],
				tool_calls: [
					{ id: "t1", type: "function", function: { name: "get_weather", arguments: '{"city":"Paris"}' } },
					{ id: "t2", type: "function", function: { name: "get_time", arguments: "{}" } },
				],
			},
			{ role: "tool", tool_call_id: "t1", content: "18 degrees" },
			{ role: "tool", tool_call_id: "t2", content: "The tool failed:\nno clock" },
			{ role: "user", content: "There:" },
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: "t3", type: "function", function: { name: "get_time", arguments: "{}" } }],
			},
			{ role: "tool", tool_call_id: "t3", content: "" },
		]);
	});

	it("may end with the beginning of the assistant's answer", () => {
		expect(
			messagesOf([
				{ role: "user", content: "a" },
				{ role: "assistant", content: "The" },
			]).at(-1),
		).toEqual({
			role: "assistant",
			content: "The",
		});
	});

	it("have images and files as parts", () => {
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
		expect(
			messagesOf([
				user(
					image,
					{ type: "image", source: { type: "url", url: "https://a.test/b.png" } },
					{
						type: "document",
						title: "a.pdf",
						source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
					},
					{
						type: "document",
						title: "Notes",
						source: { type: "text", media_type: "text/plain", data: "# A" },
					},
					{ type: "document", source: { type: "content", content: [text("b"), image] } },
					text("?"),
				),
			]),
		).toEqual([
			{
				role: "user",
				content: [
					{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
					{ type: "image_url", image_url: { url: "https://a.test/b.png" } },
					{ type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" } },
					text("Notes"),
					text("# A"),
					text("b"),
					{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
					text("?"),
				],
			},
		]);
	});

	it("must be text for a text-only model", () => {
		const model: Model = { ...CHAT_MODEL, input: "chat-legacy" };
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
		expect(messagesOf([user(text("a"), text("b"))], {}, model)).toEqual([{ role: "user", content: "a\nb" }]);
		expect(refusal({ messages: [user(text("a"), image)] }, model)).toEqual({
			key: "badInput",
			description: "Error: '/messages/0/content/1' must be text: the model takes no other",
		});
	});
});
