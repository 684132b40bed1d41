/** Codex 0.169.0: requests as `npm run agents -- --record` has them. */
import { describe, expect, it } from "vitest";
import resume from "../fixtures/agents/codex/resume.json";
import tools from "../fixtures/agents/codex/tools.json";
import turn from "../fixtures/agents/codex/turn.json";
import { outline, replay, toolCall, toolsOf } from "./replay.ts";

const types = (events: Record<string, unknown>[]) => events.map(({ type }) => type);

describe("Codex", () => {
	it("streams a turn, and names the omitted tool", async () => {
		const { engine, events, response } = await replay(turn);
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(response.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
		expect(types(events)).toEqual([
			"response.created",
			"response.in_progress",
			"response.output_item.added",
			"response.content_part.added",
			"response.output_text.delta",
			"response.output_text.delta",
			"response.output_text.done",
			"response.content_part.done",
			"response.output_item.done",
			"response.completed",
		]);
		expect(events.at(-1)).toMatchObject({
			response: { status: "completed", output: [{ type: "message", content: [{ text: "Hello there" }] }] },
		});
		expect(engine).toMatchObject({ stream: true, tool_choice: "auto", parallel_tool_calls: true });
		expect(toolsOf(engine)).toEqual([
			"exec_command",
			"write_stdin",
			"list_mcp_resources",
			"list_mcp_resource_templates",
			"read_mcp_resource",
			"request_user_input",
			"view_image",
			"multi_agent_v1__close_agent",
			"multi_agent_v1__resume_agent",
			"multi_agent_v1__send_input",
			"multi_agent_v1__spawn_agent",
			"multi_agent_v1__wait_agent",
			"mcp__tiny__add",
			"mcp__tiny__get__weather",
			"get_goal",
			"create_goal",
			"update_goal",
		]);
		expect(engine.tools?.find(({ function: { name } }) => name === "mcp__tiny__add")).toMatchObject({
			type: "function",
			function: {
				description: "Adds two numbers.",
				parameters: {
					type: "object",
					properties: { a: { type: "number" }, b: { type: "number" } },
					required: ["a", "b"],
				},
			},
		});
	});

	it("sends calls and results of MCP tools to the engine under their flat names", async () => {
		const { engine, response } = await replay(tools);
		expect(response.status).toBe(200);
		expect(outline(engine)).toEqual([
			"system (3) which files can be read or written. `sa…",
			"user shell>bash</shell>   <current_date>2026…",
			"user er in Lisbon. Use the tools. (run word1)",
			'assistant call_1=mcp__tiny__add({"a":19,"b":23}) call_2=mcp__tiny__get__weather({"city":"Lisbon"})',
			"tool call_1 (2) 42",
			"tool call_2 (2) Rain, station word2.",
		]);
	});

	it.each([
		["mcp__tiny__add", "mcp__tiny", "add", '{"a":1,"b":2}'],
		["mcp__tiny__get__weather", "mcp__tiny", "get__weather", '{"city":"Oslo"}'],
		["multi_agent_v1__close_agent", "multi_agent_v1", "close_agent", '{"target":"1"}'],
	])("maps a call of %s back to its namespace", async (flat, namespace, name, input) => {
		const { events } = await replay(tools, toolCall(flat, input));
		const call = { type: "function_call", namespace, name, call_id: "call_9" };
		const of = (type: string) => events.filter((event) => event.type === type);
		expect(of("response.output_item.added")).toMatchObject([{ item: call }]);
		expect(of("response.output_item.done")).toMatchObject([{ item: { ...call, arguments: input } }]);
		expect(of("response.completed")).toMatchObject([
			{ response: { output: [{ ...call, arguments: input }] } },
		]);
	});

	it("leaves a plain function without a namespace", async () => {
		const { events } = await replay(tools, toolCall("exec_command", '{"cmd":"ls"}'));
		const [done] = events.filter(({ type }) => type === "response.output_item.done");
		expect(done).toMatchObject({ item: { type: "function_call", name: "exec_command" } });
		expect(done?.item).not.toHaveProperty("namespace");
	});

	it("sends a resumed session in its order", async () => {
		const { engine, response } = await replay(resume);
		expect(response.status).toBe(200);
		expect(outline(engine)).toEqual([
			"system (3) which files can be read or written. `sa…",
			"user shell>bash</shell>   <current_date>2026…",
			"user Remember the colour green. (run word1)",
			"assistant Noted: word2",
			"user Which colour? (run word1)",
		]);
	});
});
