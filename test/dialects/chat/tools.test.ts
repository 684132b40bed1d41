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
			{ type: "web_search" },
			"tools[0].type must be function or custom: other kinds of tools are not supported",
		],
		[
			{ type: "function", function: { name: "x", description: false } },
			"tools[0].function.description: expected text, found false",
		],
		[{ name: "x", parameters: "{}" }, "tools[0].parameters: expected an object, found text"],
		[{ type: "function" }, "tools[0].name: expected text, found nothing"],
		["x", "tools[0]: expected an object, found text"],
		[{ name: { length: { toString: 1 } } }, "tools[0].name: expected text, found an object"],
	])("are refused if no engine can use them: %#", (sent, sentence) => {
		expect(() => readTools([sent])).toThrowError(`8001: Invalid input: ${sentence}`);
	});
});

describe("custom tools of OpenAI's route", () => {
	const grammar = { syntax: "lark", definition: 'start: "*** Begin Patch"' };
	const custom = { name: "apply_patch", description: "Edits files", format: { type: "grammar", grammar } };
	const functionOf = (description: string) => ({
		type: "function",
		function: {
			name: "apply_patch",
			description: "Edits files",
			parameters: {
				type: "object",
				properties: { input: { type: "string", description } },
				required: ["input"],
				additionalProperties: false,
			},
		},
	});

	it.each([
		["lark", "Lark grammar"],
		["regex", "regular expression"],
	])("are functions with one text, and the grammar is in its description: %s", (syntax, words) => {
		const description = `The whole input of the tool. It must match this ${words}:\n${grammar.definition}`;
		const flat = { ...custom, format: { type: "grammar", ...grammar, syntax } };
		const nested = { ...custom, format: { type: "grammar", grammar: { ...grammar, syntax } } };
		expect(readOpenAiTools([{ type: "custom", custom: nested }, tool("a")])).toEqual([
			functionOf(description),
			tool("a"),
		]);
		expect(readOpenAiTools([{ type: "custom", ...flat }])).toEqual([functionOf(description)]);
	});

	it("have no grammar if their input is free", () => {
		const expected = [functionOf("The whole input of the tool.")];
		for (const format of [undefined, null, { type: "text" }])
			expect(readOpenAiTools([{ type: "custom", custom: { ...custom, format } }])).toEqual(expected);
		expect(readOpenAiTools(null)).toEqual([]);
	});

	it.each([
		[{ type: "custom" }, "tools[0].name: expected text, found nothing"],
		[{ type: "custom", custom: {} }, "tools[0].custom.name: expected text, found nothing"],
		[
			{ type: "custom", custom: { name: "" } },
			"tools[0].custom.name: expected one or more characters, found none",
		],
		[{ type: "custom", custom: { ...custom, format: { type: "ebnf" } } }, "tools[0].custom.format"],
		[{ type: "web_search" }, "tools[0].type must be function or custom"],
	])("are refused if they are unusable: %#", (sent, sentence) => {
		expect(() => readOpenAiTools([sent])).toThrowError(`8001: Invalid input: ${sentence}`);
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

	it("of a custom tool is that of its function", () => {
		const custom = { type: "custom", custom: { name: "a" } };
		expect(chooseTools(tools, custom)).toEqual({ tools, tool_choice: tool("a") });
		const allowed = (list: object[]) => ({
			type: "allowed_tools",
			allowed_tools: { mode: "auto", tools: list },
		});
		const { tool_choice } = chooseTools(tools, allowed([custom, tool("b")]));
		expect(tool_choice).toEqual(allowed([tool("a"), tool("b")]));
	});

	it("is omitted without tools unless it requires a call", () => {
		expect(chooseTools([], "auto")).toStrictEqual({});
		expect(chooseTools([], "none")).toStrictEqual({});
		expect(() => chooseTools([], "required")).toThrowError("8001: Invalid input: tool_choice needs tools");
		expect(() => chooseTools([], tool("a"))).toThrowError("8001: Invalid input: tool_choice needs tools");
	});

	it.each([
		["any"],
		[{ type: "custom", custom: {} }],
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
