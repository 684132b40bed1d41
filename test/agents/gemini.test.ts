/** Gemini CLI 0.61.0: requests as `npm run agents -- --record` has them. */
import { describe, expect, it } from "vitest";
import resume from "../fixtures/agents/gemini/resume.json";
import tools from "../fixtures/agents/gemini/tools.json";
import turn from "../fixtures/agents/gemini/turn.json";
import { outline, replay, toolCall, toolsOf } from "./replay.ts";

const parts = (events: Record<string, unknown>[]): unknown[] =>
	events.flatMap(({ candidates }) =>
		Array.isArray(candidates) ? candidates.flatMap(({ content }) => content?.parts ?? []) : [],
	);

describe("Gemini CLI", () => {
	it("streams a turn with its usage", async () => {
		const { engine, events, response } = await replay(turn);
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(parts(events)).toMatchObject([{ text: "Hello" }, { text: " there" }, { text: "" }]);
		expect(events.at(-1)).toMatchObject({
			candidates: [{ finishReason: "STOP" }],
			usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
		});
		expect(engine).toMatchObject({ stream: true });
		expect(outline(engine)).toEqual([
			"system in software engineering tasks. You are …",
			"user da… Reply with one sentence. (run word1)",
		]);
	});

	it("gets a call of a tool as a functionCall part", async () => {
		const { events } = await replay(tools, toolCall("mcp_tiny_add", '{"a":1,"b":2}'));
		expect(parts(events)).toMatchObject([{ functionCall: { name: "mcp_tiny_add", args: { a: 1, b: 2 } } }]);
	});

	it("sends its tools, calls and results to the engine", async () => {
		const { engine } = await replay(tools);
		expect(toolsOf(engine)).toEqual([
			"update_topic",
			"list_directory",
			"read_file",
			"grep_search",
			"glob",
			"replace",
			"write_file",
			"web_fetch",
			"run_shell_command",
			"list_background_processes",
			"read_background_output",
			"google_web_search",
			"enter_plan_mode",
			"invoke_agent",
			"mcp_tiny_add",
			"mcp_tiny_get__weather",
			"activate_skill",
		]);
		expect(outline(engine)).toEqual([
			"system in software engineering tasks. You are …",
			"user er in Lisbon. Use the tools. (run word1)",
			'assistant call_1=mcp_tiny_add({"a":19,"b":23}) call_2=mcp_tiny_get__weather({"city":"Lisbon"})',
			"tool call_1 ext> The sum is 42. </untrusted_context>",
			"tool call_2 ain, station word2. </untrusted_context>",
		]);
	});

	it("keeps the order of a resumed session", async () => {
		const { engine } = await replay(resume);
		expect(outline(engine).slice(-3)).toEqual([
			"user … Remember the colour green. (run word1)",
			"assistant Noted: word2",
			"user Which colour? (run word1)",
		]);
	});
});
