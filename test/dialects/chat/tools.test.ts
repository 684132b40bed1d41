import { describe, expect, it } from "vitest";
import { chooseTools, readOpenAiTools, readTools } from "../../../src/dialects/chat/tools.ts";

const tool = (name: string) => ({ type: "function" as const, function: { name } });

describe("tools", () => {
	it("lose null and unknown fields", () => {
		expect(
			readTools([
				{ name: "a", description: null, parameters: null, strict: null, function: undefined, extra: 1 },
				{ type: "function", function: { name: "b", strict: true, extra: 1 }, extra: 1 },
			]),
		).toStrictEqual([tool("a"), { type: "function", function: { name: "b", strict: true } }]);
		expect(readTools(null)).toEqual([]);
	});

	it.each([
		[
			{ type: "custom", custom: { name: "x" } },
			"tools[0].type must be function: other kinds of tools are not supported",
		],
		[
			{ type: "function", function: { name: "x", description: false } },
			"tools[0].function.description: expected string, received boolean",
		],
		[{ name: "x", parameters: "{}" }, "tools[0].parameters: expected record, received string"],
		[{ type: "function" }, "tools[0].name: expected string, received undefined"],
		["x", "tools[0]: expected object, received string"],
		[{ name: { length: { toString: 1 } } }, "tools[0].name: expected string, received object"],
	])("are refused if no engine can use them: %#", (sent, sentence) => {
		expect(() => readTools([sent])).toThrowError(`8001: Invalid input: ${sentence}`);
	});
});

describe("custom tools of OpenAI's route", () => {
	const custom = { type: "custom", custom: { name: "apply_patch", format: { type: "text" } } };

	it("are dropped beside functions, and named", () => {
		expect(readOpenAiTools([custom, tool("a")])).toEqual({ tools: [tool("a")], dropped: ["tools.custom"] });
		expect(readOpenAiTools([tool("a")])).toEqual({ tools: [tool("a")] });
		expect(readOpenAiTools(null)).toEqual({ tools: [] });
	});

	it("are refused alone, and other tools at their own place", () => {
		expect(() => readOpenAiTools([custom])).toThrowError("tools[0].type must be function");
		expect(() => readOpenAiTools([custom, { type: "web_search" }])).toThrowError(
			"tools[1].type must be function",
		);
	});
});

describe("the choice of a tool", () => {
	const tools = [tool("a"), tool("b")];

	it("is forwarded", () => {
		const allowed = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [tool("b")] } };
		for (const tool_choice of ["none", "auto", "required", tool("a"), allowed])
			expect(chooseTools(tools, tool_choice)).toEqual({ tools, tool_choice });
		expect(chooseTools(tools, null)).toStrictEqual({ tools });
	});

	it("is omitted without tools unless it requires a call", () => {
		expect(chooseTools([], "auto")).toStrictEqual({});
		expect(chooseTools([], "none")).toStrictEqual({});
		expect(() => chooseTools([], "required")).toThrowError("8001: Invalid input: tool_choice needs tools");
		expect(() => chooseTools([], tool("a"))).toThrowError("8001: Invalid input: tool_choice needs tools");
	});

	it.each([
		["any"],
		[{ type: "custom", custom: { name: "a" } }],
		[{ type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } }],
		[5],
	])("is refused if the product refuses it: %#", (choice) => {
		expect(() => chooseTools(tools, choice)).toThrowError("8001: Invalid input: tool_choice must be");
	});

	it("must name a tool of the request", () => {
		expect(() => chooseTools(tools, tool("c"))).toThrowError("names a function that is not among the tools");
		const allowed = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tool("a"), tool("c")] } };
		expect(() => chooseTools(tools, allowed)).toThrowError("names a function that is not among the tools");
	});
});
