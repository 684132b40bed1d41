import { describe, expect, it } from "vitest";
import type {
	ChatInput,
	ChatMessage,
	ChatTool,
	ContentPart,
} from "../../../src/tasks/text-generation/types.ts";
import { failureOf, KEY } from "../upstream.ts";
import { ask, bodyOf, named } from "./ask.ts";

const tool = (name: string, parameters?: Record<string, unknown>): ChatTool => ({
	type: "function",
	function: { name, ...(parameters && { parameters }) },
});
const LOOK = tool("look");
const LOOK_SENT = { name: "look", input_schema: { type: "object", properties: {} } };
const user = (content: ChatMessage["content"]): ChatMessage => ({ role: "user", content });
const text = (said: string) => ({ type: "text", text: said });
const call = (id: string, name: string, args: string) => ({
	id,
	type: "function" as const,
	function: { name, arguments: args },
});

describe("a request", () => {
	it("has only the required fields for messages alone", async () => {
		const { call: made, answer } = ask({});
		await answer;
		const [request] = made.requests;
		expect(request?.url).toBe("https://api.anthropic.test/v1/messages");
		expect(request?.json).toEqual({
			model: "claude-sonnet-4-5-20250929",
			max_tokens: 4096,
			messages: [{ role: "user", content: [text("hi")] }],
			stream: false,
		});
		expect(Object.fromEntries(request?.headers ?? [])).toEqual({
			accept: "application/json",
			"anthropic-version": "2023-06-01",
			"content-type": "application/json",
			"x-api-key": KEY,
			"x-ganglion-hop": "1",
		});
	});

	it("sends the configured version and betas, and no key if none is configured", async () => {
		const headers = { "Anthropic-Version": "2030-01-01", "anthropic-beta": "context-1m" };
		const { call: made, answer } = ask({}, undefined, { headers, key: undefined });
		await answer;
		const sent = made.requests[0]?.headers;
		expect(sent?.get("anthropic-version")).toBe("2030-01-01");
		expect(sent?.get("anthropic-beta")).toBe("context-1m");
		expect(sent?.has("x-api-key")).toBe(false);
	});

	it("renames supported fields and omits the others", async () => {
		expect(
			await bodyOf({
				messages: [{ role: "system", content: "Be short." }, user("hi")],
				stream: false,
				max_tokens: 9,
				temperature: 1.5,
				top_p: 0.9,
				top_k: 40,
				seed: 3,
				repetition_penalty: 1.1,
				frequency_penalty: 0.1,
				presence_penalty: 0.2,
				stop: ["END"],
				n: 1,
				logprobs: true,
				top_logprobs: 4,
				logit_bias: { "50256": -100 },
				tools: [LOOK],
				tool_choice: "required",
				parallel_tool_calls: false,
				user: "u1",
				chat_template_kwargs: { a: 1 },
				passthrough: { metadata: { a: "b" }, model: "another", max_tokens: 1_000_000 },
			}),
		).toEqual({
			model: "claude-sonnet-4-5-20250929",
			max_tokens: 9,
			system: "Be short.",
			messages: [{ role: "user", content: [text("hi")] }],
			temperature: 1,
			top_k: 40,
			stop_sequences: ["END"],
			tools: [LOOK_SENT],
			tool_choice: { type: "any", disable_parallel_tool_use: true },
			metadata: { user_id: "u1" },
			stream: false,
		});
	});

	it("sends top_p only without temperature, and neither to models without sampling", async () => {
		expect(await bodyOf({ top_p: 0.9, top_k: 0 })).not.toHaveProperty("top_k");
		expect(await bodyOf({ top_k: 1 })).toMatchObject({ top_k: 1 });
		expect(await bodyOf({ top_p: 0.9 })).toMatchObject({ top_p: 0.9 });
		const body = await bodyOf({ temperature: 0.5, top_k: 3 }, named("claude-opus-4-7"));
		expect(body).not.toHaveProperty("temperature");
		expect(body).not.toHaveProperty("top_k");
	});

	it.each([
		[{ messages: [], prompt: "Once" }, "continues no text without a conversation"],
		[{ n: 2 }, "gives one answer at a time"],
		[
			{ messages: [user([{ type: "input_audio", input_audio: { data: "", format: "wav" } }])] },
			"takes no audio",
		],
		[
			{ messages: [user([{ type: "file", file: { file_id: "f1" } }])] },
			"takes files by their content, not by an id",
		],
		[
			{ messages: [user([{ type: "image_url", image_url: { url: "data:image/svg+xml,%3Csvg%3E" } }])] },
			"takes data URLs in base64 alone",
		],
	] satisfies [Partial<ChatInput>, string][])(
		"of %j is for another target to answer",
		async (input, what) => {
			const { call: made, answer } = ask(input);
			expect(await failureOf(answer)).toMatchObject({
				key: "engineRefused",
				retryable: true,
				description: `The backend 'lab' ${what}`,
			});
			expect(made.requests).toEqual([]);
		},
	);

	it("rejects an adapter with 405", async () => {
		expect(await failureOf(ask({ lora: "mine" }).answer)).toMatchObject({ key: "loraUnsupported" });
	});
});

describe("a conversation", () => {
	const messagesOf = async (...messages: ChatMessage[]) => (await bodyOf({ messages })).messages;

	it("has all instructions in `system`, in order", async () => {
		const body = await bodyOf({
			messages: [
				{ role: "system", content: "One." },
				user("hi"),
				{ role: "developer", content: [text("Two.") as never, text("Three.") as never] },
				{ role: "system", content: [{ type: "image_url", image_url: { url: "https://a.test/b.png" } }] },
			],
		});
		expect(body.system).toBe("One.\n\nTwo.\n\nThree.");
		expect(body.messages).toEqual([{ role: "user", content: [text("hi")] }]);
	});

	it("sends instructions without other messages as a user message", async () => {
		const body = await bodyOf({ messages: [{ role: "system", content: "Say hi." }] });
		expect(body).not.toHaveProperty("system");
		expect(body.messages).toEqual([{ role: "user", content: [text("Say hi.")] }]);
	});

	it("alternates the roles and omits empty texts", async () => {
		expect(
			await messagesOf(
				user("a"),
				user("b"),
				{ role: "assistant", content: "" },
				user(" \n"),
				user("c"),
				{ role: "assistant", content: "d" },
				{ role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
				user("e"),
			),
		).toEqual([
			{ role: "user", content: [text("a"), text("b"), text("c")] },
			{ role: "assistant", content: [text("d"), text("no")] },
			{ role: "user", content: [text("e")] },
		]);
	});

	it("has tool calls and results as content blocks, results first", async () => {
		expect(
			await messagesOf(
				user("weather?"),
				{
					role: "assistant",
					content: "Looking.",
					reasoning_content: "never sent: it is not signed",
					tool_calls: [
						call("call:1", "get_weather", '{"city":"Paris"}'),
						call("c2", "get_time", ""),
						call("c3", "get_list", "[1]"),
					],
				},
				{ role: "tool", tool_call_id: "call:1", content: "18 degrees" },
				user("and?"),
				{ role: "tool", tool_call_id: "c2", content: [text("noon") as never, text("UTC") as never] },
				{ role: "tool", tool_call_id: "c3", content: "" },
			),
		).toEqual([
			{ role: "user", content: [text("weather?")] },
			{
				role: "assistant",
				content: [
					text("Looking."),
					{ type: "tool_use", id: "call_1", name: "get_weather", input: { city: "Paris" } },
					{ type: "tool_use", id: "c2", name: "get_time", input: {} },
					{ type: "tool_use", id: "c3", name: "get_list", input: {} },
				],
			},
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "call_1", content: "18 degrees" },
					{ type: "tool_result", tool_use_id: "c2", content: [text("noon"), text("UTC")] },
					{ type: "tool_result", tool_use_id: "c3" },
					text("and?"),
				],
			},
		]);
	});

	it("accepts results without an id and with any number of parts", async () => {
		const result = (content: ChatMessage["content"], fields = {}): ChatMessage => ({
			role: "tool",
			content,
			...fields,
		});
		const two = [
			{ type: "text" as const, text: "a" },
			{ type: "text" as const, text: "b" },
		];
		const { messages } = await bodyOf({
			messages: [
				{ role: "assistant", content: null, tool_calls: ["", "x", "y"].map((id) => call(id, "look", "{}")) },
				result("a"),
				result(two, { tool_call_id: "x" }),
				result("", { tool_call_id: "y" }),
			],
		});
		expect(messages).toMatchObject([
			{ role: "user", content: [text("(no message)")] },
			{ role: "assistant" },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "_", content: "a" },
					{ type: "tool_result", tool_use_id: "x", content: [text("a"), text("b")] },
					{ type: "tool_result", tool_use_id: "y" },
				],
			},
		]);
	});

	it("ignores calls and thinking blocks of a user", async () => {
		const tool_calls = [call("c", "look", "{}")];
		const thinking_blocks = [{ type: "redacted_thinking" as const, data: "x" }];
		expect(await messagesOf({ role: "user", content: "a", tool_calls, thinking_blocks })).toEqual([
			{ role: "user", content: [text("a")] },
		]);
	});

	it("omits parts without their fields, except files", async () => {
		const parts = [{ type: "text" }, { type: "refusal" }, { type: "image_url" }] as ContentPart[];
		expect(await messagesOf(user(parts))).toEqual([
			{ role: "user", content: [{ type: "image", source: { type: "url", url: "" } }] },
		]);
		expect(await failureOf(ask({ messages: [user([{ type: "file" }])] }).answer)).toMatchObject({
			description: "The backend 'lab' takes files by their content, not by an id",
		});
	});

	it("removes trailing white space of an assistant prefill", async () => {
		const prefill = (...content: string[]) => content.map((said) => ({ type: "text" as const, text: said }));
		expect(await messagesOf(user("a"), { role: "assistant", content: prefill("b ", "c ") })).toEqual([
			{ role: "user", content: [text("a")] },
			{ role: "assistant", content: [text("b "), text("c")] },
		]);
		expect(await messagesOf(user("a "))).toEqual([{ role: "user", content: [text("a ")] }]);
		expect(await messagesOf(user("a"), { role: "assistant", content: "The answer is \n" })).toEqual([
			{ role: "user", content: [text("a")] },
			{ role: "assistant", content: [text("The answer is")] },
		]);
	});

	it("has images by URL or inline", async () => {
		const image = (url: string) => ({ type: "image_url" as const, image_url: { url } });
		expect(
			await messagesOf(
				user([
					image("https://a.test/b.png"),
					image("data:image/PNG;base64,AAAA"),
					{ type: "text", text: "?" },
				]),
			),
		).toEqual([
			{
				role: "user",
				content: [
					{ type: "image", source: { type: "url", url: "https://a.test/b.png" } },
					{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
					text("?"),
				],
			},
		]);
	});

	it("has files as documents", async () => {
		const file = (file_data: string, filename?: string) => ({
			type: "file" as const,
			file: { file_data, ...(filename && { filename }) },
		});
		expect(
			await messagesOf(
				user([
					file("data:application/pdf;base64,JVBERi0=", "a.pdf"),
					file("JVBERi0="),
					file(`data:text/markdown;charset=utf-8;base64,${btoa("# A")}`),
				]),
			),
		).toEqual([
			{
				role: "user",
				content: [
					{
						type: "document",
						source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
						title: "a.pdf",
					},
					{ type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } },
					{ type: "document", source: { type: "text", media_type: "text/plain", data: "# A" } },
				],
			},
		]);
		const damaged = ask({ messages: [user([file("data:text/plain;base64,*")])] });
		expect(await failureOf(damaged.answer)).toMatchObject({ key: "invalidData", retryable: false });
	});
});

describe("tools", () => {
	it.each([
		["auto", { type: "auto" }],
		["none", { type: "none" }],
		["required", { type: "any" }],
		[
			{ type: "function", function: { name: "look" } },
			{ type: "tool", name: "look" },
		],
	] as const)("have the tool choice %j", async (tool_choice, sent) => {
		expect(await bodyOf({ tools: [LOOK], tool_choice })).toMatchObject({
			tools: [LOOK_SENT],
			tool_choice: sent,
		});
	});

	it("disables parallel calls if requested", async () => {
		expect(await bodyOf({ tools: [LOOK], parallel_tool_calls: false })).toMatchObject({
			tool_choice: { type: "auto", disable_parallel_tool_use: true },
		});
		expect(await bodyOf({ tools: [LOOK], tool_choice: "none", parallel_tool_calls: false })).toMatchObject({
			tool_choice: { type: "none" },
		});
		expect(await bodyOf({ tools: [LOOK], parallel_tool_calls: true })).not.toHaveProperty("tool_choice");
	});

	it("omits tools that are not allowed", async () => {
		const allowed_tools = {
			mode: "required" as const,
			tools: [{ type: "function", function: { name: "b" } }],
		};
		const body = await bodyOf({
			tools: [LOOK, tool("b", { type: "object", properties: { x: { type: "string" } } })],
			tool_choice: { type: "allowed_tools", allowed_tools },
		});
		expect(body.tools).toEqual([
			{ name: "b", input_schema: { type: "object", properties: { x: { type: "string" } } } },
		]);
		expect(body.tool_choice).toEqual({ type: "any" });
	});

	it("are strict if the schema is a grammar and the model supports it", async () => {
		const strict: ChatTool = {
			type: "function",
			function: {
				name: "look",
				description: "Looks",
				parameters: { type: "object", properties: { x: { type: "integer", minimum: 1 } }, required: ["x"] },
				strict: true,
			},
		};
		expect((await bodyOf({ tools: [strict] })).tools).toEqual([
			{
				name: "look",
				description: "Looks",
				input_schema: {
					type: "object",
					properties: { x: { type: "integer", description: "(minimum: 1)" } },
					required: ["x"],
					additionalProperties: false,
				},
				strict: true,
			},
		]);
		const open = { ...strict, function: { ...strict.function, parameters: { type: "object" } } };
		expect((await bodyOf({ tools: [open] })).tools).toEqual([
			{ name: "look", description: "Looks", input_schema: { type: "object", properties: {} } },
		]);
		const older = await bodyOf({ tools: [strict] }, named("claude-sonnet-4-20250514"));
		expect(older.tools).toEqual([
			{ name: "look", description: "Looks", input_schema: strict.function.parameters },
		]);
	});
});

describe("thinking", () => {
	const HIGH: Partial<ChatInput> = { reasoning_effort: "high" };

	it.each([
		["claude-3-7-sonnet-latest", "minimal", undefined, 5120, 1024],
		["claude-sonnet-4-5-20250929", "low", undefined, 6144, 2048],
		["claude-haiku-4.5", "medium", undefined, 12288, 8192],
		["claude-opus-4-1", "high", undefined, 20480, 16384],
		["claude-sonnet-4-5", "high", 6000, 6000, 3000],
		["claude-sonnet-4-5", "high", 1500, 1500, 1024],
		["another-maker", "low", undefined, 6144, 2048],
	] as const)("of %s, %s, within %s", async (model, reasoning_effort, max_tokens, limit, budget_tokens) => {
		const body = await bodyOf({ reasoning_effort, max_tokens, temperature: 0.2, top_k: 5 }, named(model));
		expect(body).toMatchObject({ max_tokens: limit, thinking: { type: "enabled", budget_tokens } });
		expect(body).not.toHaveProperty("temperature");
		expect(body).not.toHaveProperty("top_k");
	});

	it("is adaptive with an effort for newer models", async () => {
		for (const model of ["claude-opus-4-6", "claude-opus-4.7", "claude-sonnet-5", "claude-next"])
			expect(await bodyOf({ reasoning_effort: "minimal" }, named(model))).toMatchObject({
				max_tokens: 5120,
				thinking: { type: "adaptive", display: "summarized" },
				output_config: { effort: "low" },
			});
	});

	it("is not requested from models without it, nor with a small limit", async () => {
		expect(await bodyOf(HIGH, named("claude-3-5-haiku-20241022"))).toMatchObject({ max_tokens: 4096 });
		for (const body of [
			await bodyOf(HIGH, named("claude-3-5-haiku-20241022")),
			await bodyOf({ ...HIGH, max_tokens: 1024 }),
		]) {
			expect(body).not.toHaveProperty("thinking");
			expect(body).not.toHaveProperty("output_config");
		}
	});

	it("is requested for a conversation without messages", async () => {
		expect(await bodyOf({ ...HIGH, messages: [] })).toMatchObject({ thinking: { type: "enabled" } });
	});

	it("is disabled", async () => {
		expect(await bodyOf({ reasoning_effort: null })).not.toHaveProperty("thinking");
		expect(
			await bodyOf({ reasoning_effort: null, temperature: 0.1 }, named("claude-opus-4-6")),
		).toMatchObject({
			thinking: { type: "disabled" },
			temperature: 0.1,
		});
	});

	it.each([
		["a forced call", { tools: [LOOK], tool_choice: "required" }, false],
		["words to continue", { messages: [user("a"), { role: "assistant", content: "b" }] }, false],
		[
			"results without the thoughts that they came from",
			{
				messages: [
					user("a"),
					{ role: "assistant", content: null, tool_calls: [call("c1", "look", "{}")] },
					{ role: "tool", tool_call_id: "c1", content: "b" },
				],
			},
			true,
		],
	] satisfies [string, Partial<ChatInput>, boolean][])("is omitted for %s", async (_, input, newerThinks) => {
		expect(await bodyOf({ ...HIGH, ...input })).not.toHaveProperty("thinking");
		const newer = await bodyOf({ ...HIGH, ...input }, named("claude-opus-4-6"));
		expect("thinking" in newer).toBe(newerThinks);
		expect(newer.output_config).toEqual({ effort: "high" });
	});
});

describe("the answer format", () => {
	const formed = (schema: unknown): Partial<ChatInput> => ({
		response_format: { type: "json_schema", json_schema: { name: "a person", schema } },
	});
	const OBJECT = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

	it("is a grammar if the schema and the model support it", async () => {
		const body = await bodyOf(formed(OBJECT));
		expect(body.output_config).toEqual({
			format: { type: "json_schema", schema: { ...OBJECT, additionalProperties: false } },
		});
		expect(body).not.toHaveProperty("tools");
	});

	it("is sent together with an effort", async () => {
		const body = await bodyOf({ ...formed(OBJECT), reasoning_effort: "low" }, named("claude-opus-4-6"));
		expect(body.output_config).toMatchObject({ effort: "low", format: { type: "json_schema" } });
	});

	it("is a forced tool call if the schema cannot be a grammar", async () => {
		const open = { type: "object", additionalProperties: { type: "string" } };
		for (const [schema, model] of [
			[open, "claude-sonnet-4-5"],
			[OBJECT, "claude-sonnet-4-20250514"],
		] as const) {
			const body = await bodyOf({ ...formed(schema), reasoning_effort: "high" }, named(model));
			expect(body.tools).toEqual([
				{ name: "a_person", description: expect.any(String), input_schema: schema },
			]);
			expect(body.tool_choice).toEqual({ type: "tool", name: "a_person", disable_parallel_tool_use: true });
			expect(body).not.toHaveProperty("thinking");
		}
	});

	it("is a field of the tool's arguments if the schema is not an object", async () => {
		const schema = { type: "array", items: { $ref: "#/$defs/a" }, $defs: { a: { type: "string" } } };
		expect((await bodyOf(formed(schema))).tools).toEqual([
			{
				name: "a_person",
				description: expect.any(String),
				input_schema: {
					type: "object",
					properties: { answer: { type: "array", items: { $ref: "#/$defs/a" } } },
					required: ["answer"],
					$defs: schema.$defs,
				},
			},
		]);
	});

	it("is an instruction without a schema or beside tools", async () => {
		const system = { role: "system" as const, content: "Be short." };
		const body = await bodyOf({
			messages: [system, user("hi")],
			response_format: { type: "json_object" },
		});
		expect(body.system).toMatch(/^Be short\.\n\nAnswer with one JSON object/);
		expect(body).not.toHaveProperty("tools");
		const beside = await bodyOf({ ...formed({ type: "object" }), tools: [LOOK] });
		expect(beside.tools).toEqual([LOOK_SENT]);
		expect(beside.system).toContain(
			'JSON Schema and nothing else: no words around it, no code fence.\n{"type":"object"}',
		);
	});

	it.each([
		["a person", "a_person"],
		["", "answer"],
		["n".repeat(65), "n".repeat(64)],
	])("has a tool with a valid name for %j", async (name, expected) => {
		const json_schema = { name, schema: { type: "string" }, description: "A name." };
		const { tools } = await bodyOf({ response_format: { type: "json_schema", json_schema } });
		expect(tools).toEqual([
			{
				name: expected,
				description: "A name.",
				input_schema: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] },
			},
		]);
	});

	it("keeps both kinds of definitions at the root of the tool's arguments", async () => {
		const schema = { anyOf: [{ $ref: "#/definitions/a" }], definitions: { a: { type: "string" } } };
		const { tools } = await bodyOf(formed(schema));
		expect(tools).toMatchObject([
			{
				input_schema: {
					type: "object",
					properties: { answer: { anyOf: [{ $ref: "#/definitions/a" }] } },
					required: ["answer"],
					definitions: { a: { type: "string" } },
				},
			},
		]);
	});

	it("is an instruction for a schema that is no object", async () => {
		for (const schema of [undefined, true])
			expect((await bodyOf(formed(schema))).system).toBe(
				"Answer with one JSON object and nothing else: no words around it, no code fence.",
			);
	});

	it("is absent for text", async () => {
		expect(await bodyOf({ response_format: { type: "text" } })).toEqual(await bodyOf({}));
	});
});

describe("cache breakpoints", () => {
	const cache_control = { type: "ephemeral" };
	const marked = (said: string): ContentPart => ({ type: "text", text: said, cache_control });
	const turn = (said: string): ChatMessage => ({ role: "user", content: [marked(said)] });
	const input = (turns: number): Partial<ChatInput> => ({
		tools: [{ ...LOOK, cache_control }],
		messages: [
			{ role: "system", content: [marked("Be short.")] },
			...Array.from({ length: turns }, (_, index) => turn(`Part ${index}`)),
		],
	});

	it("are the last four, and the earliest ones are named as dropped", async () => {
		const { call: made, answer } = ask(input(4));
		await answer;
		expect(made.requests[0]?.json).toMatchObject({
			tools: [LOOK_SENT],
			system: [{ type: "text", text: "Be short." }],
			messages: [
				{
					role: "user",
					content: Array.from({ length: 4 }, (_, index) => ({ ...text(`Part ${index}`), cache_control })),
				},
			],
		});
		const sent = JSON.stringify(made.requests[0]?.json);
		expect(sent.match(/cache_control/g)).toHaveLength(4);
		expect(made.report?.dropped).toEqual(["cache_control"]);
	});

	it("stay if there are four", async () => {
		const { call: made, answer } = ask(input(2));
		await answer;
		expect(JSON.stringify(made.requests[0]?.json).match(/cache_control/g)).toHaveLength(4);
		expect(made.report?.dropped).toEqual([]);
	});

	it("count with the one of the request itself", async () => {
		const body = await bodyOf({ ...input(3), cache_control } as Partial<ChatInput>);
		expect(body.cache_control).toEqual(cache_control);
		expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
		expect(body.tools).toEqual([LOOK_SENT]);
	});
});
