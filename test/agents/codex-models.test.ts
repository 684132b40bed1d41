/**
 * Codex 0.171.0 with models of its own list, whose requests differ: requests as `npm run agents -- --model gpt-5.6-sol --record` has
 * them. gpt-5.5 searches for tools; gpt-5.6 and gpt-6 have all tools in an item, and call MCP tools in JavaScript.
 */
import { describe, expect, it } from "vitest";
import search from "../fixtures/agents/codex/gpt-5.5-tools.json";
import javascript from "../fixtures/agents/codex/gpt-5.6-sol-tools.json";
import { outline, replay, toolCall, toolsOf } from "./replay.ts";

const doneItems = (events: Record<string, unknown>[]) =>
	events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [item] : []));

describe("Codex with gpt-5.5", () => {
	it("calls tools that it has found", async () => {
		const { engine, response } = await replay(search);
		expect(response.status).toBe(200);
		expect(response.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
		expect(toolsOf(engine).slice(-3)).toEqual(["tool_search", "mcp__tiny__add", "mcp__tiny__get__weather"]);
		expect(outline(engine).slice(-5)).toEqual([
			'assistant call_1=tool_search({"query":"add numbers, get weather"})',
			"tool call_1  mcp__tiny__add, mcp__tiny__get__weather",
			'assistant call_2=mcp__tiny__add({"a":19,"b":23}) call_3=mcp__tiny__get__weather({"city":"Lisbon"})',
			"tool call_2 (2) The sum is 42.",
			"tool call_3 (2) Rain, station word2.",
		]);
	});

	it("gets its own item for a search, a patch and a found tool", async () => {
		const { events: searched } = await replay(search, toolCall("tool_search", '{"query":"rain"}'));
		expect(doneItems(searched)).toMatchObject([
			{ type: "tool_search_call", call_id: "call_9", execution: "client", arguments: { query: "rain" } },
		]);
		const { events: patched } = await replay(search, toolCall("apply_patch", '{"input":"*** Begin Patch"}'));
		expect(doneItems(patched)).toMatchObject([
			{ type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" },
		]);
		const { events: called } = await replay(search, toolCall("mcp__tiny__add", "{}"));
		expect(doneItems(called)).toMatchObject([
			{ type: "function_call", name: "add", namespace: "mcp__tiny", arguments: "{}" },
		]);
	});
});

describe("Codex with gpt-5.6-sol", () => {
	it("sends its tools in an item", async () => {
		const { engine, response } = await replay(javascript);
		expect(response.status).toBe(200);
		expect(response.headers.get("x-ganglion-dropped")).toBeNull();
		expect(toolsOf(engine).slice(0, 3)).toEqual([
			"functions__exec",
			"functions__wait",
			"functions__request_user_input",
		]);
		expect(outline(engine).slice(-3)).toEqual([
			`assistant call_1=functions__exec(${JSON.stringify({ input: 'text(await tools.mcp__tiny__add({"a":19,"b":23}))' })}) \
call_2=functions__exec(${JSON.stringify({ input: 'text(await tools.mcp__tiny__get__weather({"city":"Lisbon"}))' })})`,
			'tool call_1 (2) "type":"text","text":"The sum is 42."}]}',
			'tool call_2 (2) :"text","text":"Rain, station word2."}]}',
		]);
	});

	it("gets its JavaScript in the namespace of the tool", async () => {
		const { events } = await replay(javascript, toolCall("functions__exec", '{"input":"text(1)"}'));
		const call = { type: "custom_tool_call", name: "exec", namespace: "functions", input: "text(1)" };
		expect(doneItems(events)).toMatchObject([call]);
		expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { output: [call] } });
	});
});
