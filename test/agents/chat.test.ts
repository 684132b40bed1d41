/** opencode 1.18.33, Qwen Code 0.24.4 and Continue 1.5.47: requests as `npm run agents -- --record` has them. */
import { describe, expect, it } from "vitest";
import continueResume from "../fixtures/agents/continue/resume.json";
import continueTools from "../fixtures/agents/continue/tools.json";
import continueTurn from "../fixtures/agents/continue/turn.json";
import opencodeResume from "../fixtures/agents/opencode/resume.json";
import opencodeTools from "../fixtures/agents/opencode/tools.json";
import opencodeTurn from "../fixtures/agents/opencode/turn.json";
import qwenResume from "../fixtures/agents/qwen/resume.json";
import qwenTools from "../fixtures/agents/qwen/tools.json";
import qwenTurn from "../fixtures/agents/qwen/turn.json";
import { outline, type Replayed, replay, toolCall, toolsOf } from "./replay.ts";

function expectStream({ events, response, text }: Replayed): void {
	expect(response.status).toBe(200);
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	expect(response.headers.get("x-ganglion-dropped")).toBeNull();
	expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
	for (const event of events) expect(event).toMatchObject({ object: "chat.completion.chunk" });
}

const deltas = (events: Replayed["events"]): unknown[] =>
	events.flatMap(({ choices }) => (Array.isArray(choices) ? choices.map(({ delta }) => delta) : []));

const RESUMED: Readonly<Record<string, string[]>> = {
	opencode: [
		'user "Remember the colour green. (run word1)"',
		"assistant Noted: word2",
		'user "Which colour? (run word1)"',
	],
	// Its reminders are parts of the same messages.
	"Qwen Code": [
		"user (4) Remember the colour green. (run word1)",
		"assistant Noted: word2",
		"user (3) Which colour? (run word1)",
	],
	Continue: [
		"user Remember the colour green. (run word1)",
		"assistant Noted: word2",
		"user Which colour? (run word1)",
	],
};

describe.each([
	["opencode", opencodeTurn, opencodeTools, opencodeResume],
	["Qwen Code", qwenTurn, qwenTools, qwenResume],
	["Continue", continueTurn, continueTools, continueResume],
])("%s", (agent, turn, tools, resume) => {
	it("streams a turn with its usage", async () => {
		const replayed = await replay(turn);
		expectStream(replayed);
		expect(deltas(replayed.events)).toMatchObject([{ content: "Hello" }, { content: " there" }, {}]);
		expect(replayed.events.at(-1)).toMatchObject({
			choices: [],
			usage: { prompt_tokens: 3, completion_tokens: 2 },
		});
		expect(replayed.engine).toMatchObject({ stream: true, stream_options: { include_usage: true } });
	});

	it("gets a call of a tool under the name that it sent", async () => {
		const name = tools.body.tools.at(-1)?.function.name ?? "";
		const replayed = await replay(tools, toolCall(name, '{"a":1}'));
		expectStream(replayed);
		expect(deltas(replayed.events).slice(0, 3)).toMatchObject([
			{ tool_calls: [{ index: 0, id: "call_9", type: "function", function: { name } }] },
			{ tool_calls: [{ index: 0, function: { arguments: '{"' } }] },
			{ tool_calls: [{ index: 0, function: { arguments: 'a":1}' } }] },
		]);
	});

	it("keeps the order of a resumed session", async () => {
		const { engine } = await replay(resume);
		expect(outline(engine).slice(-3)).toEqual(RESUMED[agent]);
	});
});

it.each([
	[
		"opencode",
		opencodeTools,
		[
			"bash",
			"edit",
			"glob",
			"grep",
			"read",
			"skill",
			"task",
			"tiny_add",
			"tiny_get__weather",
			"todowrite",
			"webfetch",
			"write",
		],
		[
			"system  on a user's computer.  Your primary go…",
			'user r in Lisbon. Use the tools. (run word1)"',
			'assistant call_1=tiny_add({"a":19,"b":23}) call_2=tiny_get__weather({"city":"Lisbon"})',
			"tool call_1 42",
			"tool call_2 Rain, station word2.",
		],
	],
	[
		"Qwen Code",
		qwenTools,
		[
			"agent",
			"edit",
			"get_goal",
			"glob",
			"grep_search",
			"list_agents",
			"notebook_edit",
			"read_file",
			"run_shell_command",
			"skill",
			"tool_call",
			"tool_search",
			"update_goal",
			"write_file",
		],
		[
			"system by Alibaba Group, specializing in softw…",
			"user (6) er in Lisbon. Use the tools. (run word1)",
			'assistant call_1=tool_search({"query":"select:mcp__tiny__add,mcp__tiny__get__weather"})',
			'tool call_1 on":"Adds two numbers.","parametersJson…',
			'assistant call_2=tool_call({"name":"mcp__tiny__add","arguments":{"a":19,"b":23}}) call_3=tool_call({"name":"mcp__tiny__get__weather","arguments":{"city":"Lisbon"}})',
			"tool call_2 42",
			"tool call_3 Rain, station word2.",
		],
	],
	[
		"Continue",
		continueTools,
		[
			"Read",
			"Write",
			"List",
			"Bash",
			"Fetch",
			"Checklist",
			"CheckBackgroundJob",
			"AskQuestion",
			"MultiEdit",
			"Exit",
			"Skills",
			"add",
			"get__weather",
		],
		[
			"system ompt, you should use the tools availabl…",
			"user er in Lisbon. Use the tools. (run word1)",
			'assistant call_1=add({"a":19,"b":23}) call_2=get__weather({"city":"Lisbon"})',
			'tool call_1 [{"type":"text","text":"42"}]',
			'tool call_2 ":"text","text":"Rain, station word2."}]',
		],
	],
])("%s sends its tools and their results to the engine", async (_, tools, names, messages) => {
	const { engine } = await replay(tools);
	expect(toolsOf(engine)).toEqual(names);
	expect(outline(engine)).toEqual(messages);
});
