/** Claude Code 2.1.330: requests as `npm run agents -- --record` has them. */
import { describe, expect, it } from "vitest";
import resume from "../fixtures/agents/claude/resume.json";
import tools from "../fixtures/agents/claude/tools.json";
import turn from "../fixtures/agents/claude/turn.json";
import { outline, replay, toolCall, toolsOf } from "./replay.ts";

const OWN_TOOLS = [
	"Agent",
	"Bash",
	"Edit",
	"ListAgents",
	"Read",
	"ReportFindings",
	"ScheduleWakeup",
	"Skill",
	"ToolSearch",
	"Workflow",
	"Write",
];

describe("Claude Code", () => {
	it("streams a turn; the placeholder of its deferred tools stays behind", async () => {
		const { engine, events, response } = await replay(turn);
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(response.headers.get("x-ganglion-dropped")).toBe("context_management");
		expect(events.map(({ type }) => type)).toEqual([
			"message_start",
			"content_block_start",
			"ping",
			"content_block_delta",
			"content_block_delta",
			"content_block_stop",
			"message_delta",
			"message_stop",
		]);
		expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" } });
		expect(engine).toMatchObject({ stream: true, max_tokens: 32000 });
		expect(toolsOf(engine)).toEqual(OWN_TOOLS);
		expect(outline(engine)).toEqual([
			"system s, using your own judgment along the wa…",
			"user  - Primary working directory:… </system>",
		]);
	});

	it("sends the system message after the prompt as a part of the user's turn", async () => {
		const { engine } = await replay(turn);
		expect(engine.messages[1]?.content).toMatch(
			/Reply with one sentence\. \(run word1\)\s+<system>\s+# Environment[\s\S]*<\/system>$/,
		);
	});

	it("sends the deferred tools that were found, and references to tools as text", async () => {
		const { engine, response } = await replay(tools);
		expect(response.status).toBe(200);
		expect(toolsOf(engine)).toEqual([...OWN_TOOLS, "mcp__tiny__add", "mcp__tiny__get__weather"]);
		expect(outline(engine)).toEqual([
			"system s, using your own judgment along the wa…",
			"user  - Primary working directory:… </system>",
			'assistant call_000001000=ToolSearch({"query":"select:mcp__tiny__add,mcp__tiny__get__weather","max_results":5})',
			"tool call_000001000 cp__tiny__get__weather is now available.",
			'assistant call_000002000=mcp__tiny__add({"a":19,"b":23}) call_000002001=mcp__tiny__get__weather({"city":"Lisbon"})',
			"tool call_000002000 42",
			"tool call_000002001 Rain, station word2.",
		]);
	});

	it("gets a call of an MCP tool as a tool_use block", async () => {
		const { events } = await replay(tools, toolCall("mcp__tiny__add", '{"a":1,"b":2}'));
		expect(events.find(({ type }) => type === "content_block_start")).toMatchObject({
			content_block: { type: "tool_use", name: "mcp__tiny__add", input: {} },
		});
		const pieces = events.filter(({ type }) => type === "content_block_delta");
		expect(pieces).toMatchObject([
			{ delta: { type: "input_json_delta", partial_json: '{"' } },
			{ delta: { type: "input_json_delta", partial_json: 'a":1,"b":2}' } },
		]);
		expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
	});

	it("sends a continued session in its order", async () => {
		const { engine, response } = await replay(resume);
		expect(response.status).toBe(200);
		expect(outline(engine)).toEqual([
			"system s, using your own judgment along the wa…",
			"user  - Primary working directory:… </system>",
			"assistant Noted: word2",
			"user Which colour? (run word1)",
		]);
	});
});
