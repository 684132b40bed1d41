/** Tools that the caller runs and that have item types of their own, and items that add tools. */
import type { OpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { responses } from "../../../src/dialects/responses/responses.ts";
import {
	answered,
	completion,
	contextOf,
	delta,
	eventsOf,
	hubText,
	jsonOf,
	parseEvents,
	readChat,
	streamed,
	streamOf,
} from "./fixtures.ts";

const engineCall = (name: string, args: string) => ({
	id: "call_1",
	type: "function" as const,
	function: { name, arguments: args },
});

/** The items for one call of the engine, in a whole answer and at the end of a stream. */
async function itemsOf(body: object, name: string, args: string) {
	const called = engineCall(name, args);
	const value = jsonOf(
		responses.writer.write(answered(completion({ tool_calls: [called] }, "tool_calls")), contextOf(body)),
	);
	const { output } = value as OpenAI.Responses.Response;
	const hub = hubText([
		delta({ tool_calls: [{ index: 0, ...called, function: { name, arguments: "" } }] }),
		...[args.slice(0, 3), args.slice(3)].map((part) =>
			delta({ tool_calls: [{ index: 0, function: { arguments: part } }] }),
		),
		delta({}, "tool_calls"),
	]);
	const rendered = responses.writer.write(streamed(streamOf([hub])), contextOf({ ...body, stream: true }));
	const events = parseEvents(await new Response(eventsOf(rendered)).text());
	const added = events.filter(({ type }) => type === "response.output_item.added");
	const done = events.filter(({ type }) => type === "response.output_item.done");
	expect(done.map(({ item }) => item)).toEqual(output);
	expect(added).toHaveLength(1);
	expect(added[0]?.item).toMatchObject({ type: output[0]?.type, status: "in_progress", call_id: "call_1" });
	return { output, types: events.map(({ type }) => type) };
}

const user = (content: string) => ({ role: "user", content });

describe("a search for tools by the caller", () => {
	const search = {
		type: "tool_search",
		execution: "client",
		description: "Finds tools.",
		parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
	};

	it("is a function for the engine", () => {
		const { tools, dropped } = readChat({ input: "hi", tools: [search] });
		expect(tools).toEqual([
			{
				type: "function",
				function: { name: "tool_search", description: "Finds tools.", parameters: search.parameters },
			},
		]);
		expect(dropped).toBeUndefined();
	});

	it("is answered with a tool_search_call, whose arguments are an object", async () => {
		const { output, types } = await itemsOf(
			{ input: "hi", tools: [search] },
			"tool_search",
			'{"query":"weather"}',
		);
		expect(output).toEqual([
			{
				id: "tsc_01",
				type: "tool_search_call",
				status: "completed",
				call_id: "call_1",
				execution: "client",
				arguments: { query: "weather" },
			},
		]);
		expect(types.slice(2, -1)).toEqual(["response.output_item.added", "response.output_item.done"]);
	});

	it("adds the tools that it has found", () => {
		const found = {
			type: "namespace",
			name: "mcp__tiny",
			description: "Tools in the mcp__tiny namespace.",
			tools: [{ type: "function", name: "get__weather", strict: false, defer_loading: true, parameters: {} }],
		};
		const input = [
			user("hi"),
			{
				type: "tool_search_call",
				id: "tsc_1",
				call_id: "a",
				execution: "client",
				status: "completed",
				arguments: { query: "weather" },
			},
			{
				type: "tool_search_output",
				id: "tso_1",
				call_id: "a",
				status: "completed",
				execution: "client",
				tools: [found],
			},
		];
		const { messages, tools } = readChat({ input, tools: [search] });
		expect(messages.slice(1)).toEqual([
			{
				role: "assistant",
				content: null,
				tool_calls: [{ ...engineCall("tool_search", '{"query":"weather"}'), id: "a" }],
			},
			{ role: "tool", tool_call_id: "a", content: "These tools are now available: mcp__tiny__get__weather" },
		]);
		expect(tools?.map((tool) => tool.function.name)).toEqual(["tool_search", "mcp__tiny__get__weather"]);
		const nothing = input.with(2, { ...input[2], tools: [] } as never);
		expect(readChat({ input: nothing, tools: [search] }).messages.at(-1)?.content).toBe("No tool was found.");
	});

	it("gives calls of found tools their namespace", async () => {
		const input = [
			user("hi"),
			{ type: "tool_search_call", call_id: "a", execution: "client", arguments: {} },
			{
				type: "tool_search_output",
				call_id: "a",
				execution: "client",
				tools: [{ type: "namespace", name: "mcp__tiny", tools: [{ type: "function", name: "add" }] }],
			},
		];
		const { output } = await itemsOf({ input, tools: [search] }, "mcp__tiny__add", '{"a":1}');
		expect(output).toMatchObject([{ type: "function_call", name: "add", namespace: "mcp__tiny" }]);
	});

	it("is dropped where OpenAI runs it", () => {
		const input = [
			user("hi"),
			{ type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
			{ type: "tool_search_output", call_id: null, execution: "server", tools: [] },
		];
		expect(readChat({ input, tools: [{ type: "tool_search" }] })).toEqual({
			messages: [user("hi")],
			stream: false,
			dropped: ["tools.tool_search", "input.tool_search_call", "input.tool_search_output"],
		});
	});
});

describe("an item with additional tools", () => {
	const exec = { type: "custom", name: "exec", description: "Runs JavaScript.", format: { type: "text" } };
	const wait = { type: "function", name: "wait", strict: false, parameters: { type: "object" } };
	const additional = {
		type: "additional_tools",
		id: "at_1",
		role: "developer",
		tools: [
			{ type: "namespace", name: "functions", description: "", tools: [exec, wait] },
			{ type: "web_search" },
		],
	};
	const body = { input: [additional, user("hi")], reasoning: { effort: "low", context: "all_turns" } };

	it("has the tools of a request without tools", () => {
		const { messages, tools, dropped } = readChat(body);
		expect(messages).toEqual([user("hi")]);
		expect(tools?.map((tool) => tool.function.name)).toEqual(["functions__exec", "functions__wait"]);
		expect(dropped).toEqual(["tools.web_search"]);
	});

	it.each(["functions__exec", "functions.exec", "exec"])("maps calls of %s back", async (name) => {
		const { output, types } = await itemsOf(body, name, '{"input":"text(1)"}');
		expect(output).toEqual([
			{
				id: "ctc_01",
				type: "custom_tool_call",
				status: "completed",
				call_id: "call_1",
				name: "exec",
				namespace: "functions",
				input: "text(1)",
			},
		]);
		expect(types.slice(2, -1)).toEqual([
			"response.output_item.added",
			"response.custom_tool_call_input.delta",
			"response.custom_tool_call_input.done",
			"response.output_item.done",
		]);
	});

	it("does not map a bare name that two tools have", async () => {
		const other = { type: "namespace", name: "other", tools: [wait] };
		const { output } = await itemsOf({ ...body, tools: [other] }, "wait", "{}");
		expect(output).toMatchObject([{ type: "function_call", name: "wait" }]);
		expect(output[0]).not.toHaveProperty("namespace");
	});

	it("replaces a tool that the request already has", () => {
		const tools = [{ ...additional.tools[0], tools: [{ ...wait, description: "before" }] }];
		const read = readChat({ ...body, tools }).tools;
		expect(read?.map((tool) => tool.function.name)).toEqual(["functions__wait", "functions__exec"]);
		expect(read?.[0]?.function).not.toHaveProperty("description");
	});

	it("is refused at its place if a tool is not valid", () => {
		const input = [user("hi"), { ...additional, tools: [{ type: "function" }] }];
		expect(() => readChat({ input })).toThrowError(
			"8001: Invalid input: input[1].tools[0].name: expected text, found nothing",
		);
	});
});

describe("shells and patches", () => {
	it.each([
		[
			"local_shell",
			'{"command":["ls","-l"],"timeout_ms":5}',
			{
				id: "lsh_01",
				type: "local_shell_call",
				action: {
					type: "exec",
					command: ["ls", "-l"],
					env: {},
					timeout_ms: 5,
					user: null,
					working_directory: null,
				},
			},
		],
		[
			"shell",
			'{"commands":["ls","pwd"]}',
			{
				id: "sh_01",
				type: "shell_call",
				action: { commands: ["ls", "pwd"], timeout_ms: null, max_output_length: null },
				environment: null,
			},
		],
		[
			"apply_patch",
			'{"type":"update_file","path":"a.ts","diff":"@@\\n-a\\n+b"}',
			{
				id: "apc_01",
				type: "apply_patch_call",
				operation: { type: "update_file", path: "a.ts", diff: "@@\n-a\n+b" },
			},
		],
		[
			"apply_patch",
			'{"type":"delete_file","path":"a.ts","diff":""}',
			{
				id: "apc_01",
				type: "apply_patch_call",
				operation: { type: "delete_file", path: "a.ts" },
			},
		],
		// What a model writes may be wrong. The caller's tool reports it.
		[
			"shell",
			'{"commands":"ls","timeout_ms":"soon"}',
			{
				id: "sh_01",
				type: "shell_call",
				action: { commands: ["ls"], timeout_ms: null, max_output_length: null },
				environment: null,
			},
		],
		[
			"shell",
			"ls",
			{
				id: "sh_01",
				type: "shell_call",
				action: { commands: [], timeout_ms: null, max_output_length: null },
				environment: null,
			},
		],
	])("answers a call of %s with %s", async (type, args, item) => {
		const { output } = await itemsOf({ input: "hi", tools: [{ type }] }, type, args);
		expect(output).toEqual([{ ...item, status: "completed", call_id: "call_1" }]);
	});

	it.each([
		[
			{ type: "local_shell_call", action: { type: "exec", command: ["ls"], env: {} } },
			"local_shell",
			'{"command":["ls"],"env":{}}',
		],
		[
			{ type: "apply_patch_call", operation: { type: "delete_file", path: "a" } },
			"apply_patch",
			'{"type":"delete_file","path":"a"}',
		],
	])("reads %j as the same call", (item, name, args) => {
		const input = [user("hi"), { id: "x_1", call_id: "a", status: "completed", ...item }];
		expect(readChat({ input }).messages[1]?.tool_calls).toEqual([{ ...engineCall(name, args), id: "a" }]);
	});

	it("can be forced", () => {
		const tools = [{ type: "apply_patch" }, { type: "shell" }];
		expect(readChat({ input: "hi", tools, tool_choice: { type: "apply_patch" } }).tool_choice).toEqual({
			type: "function",
			function: { name: "apply_patch" },
		});
	});

	it("drops a shell in a container of OpenAI", () => {
		const tools = [{ type: "shell", environment: { type: "container_auto" } }];
		expect(readChat({ input: "hi", tools })).toMatchObject({ dropped: ["tools.shell"] });
	});
});

describe("items of other vendors", () => {
	it("are dropped and listed", () => {
		const { messages, dropped } = readChat({
			input: [
				user("hi"),
				{ type: "compaction", id: "cmp_1", encrypted_content: "gAAAAABo" },
				{ type: "agent_message", author: "/root", content: [{ type: "encrypted_content" }] },
				{ type: "ghost_snapshot", ghost_commit: {} },
				{ type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot" } },
				{ type: "program", id: "prog_1" },
			],
		});
		expect(messages).toEqual([user("hi")]);
		expect(dropped).toEqual([
			"input.compaction",
			"input.agent_message",
			"input.ghost_snapshot",
			"input.computer_call_output",
			"input.program",
		]);
	});

	it("are refused if their type could not be listed", () => {
		expect(() => readChat({ input: [user("hi"), { type: "a, b" }] })).toThrowError(
			'8001: Invalid input: input[1].type: "a, b" is not supported',
		);
	});
});
