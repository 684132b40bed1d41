import { describe, expect, it } from "vitest";
import { narrowTools } from "../../src/backends/allowed-tools.ts";
import type { ChatTool, ToolChoice } from "../../src/tasks/text-generation/types.ts";

const tool = (name: string): ChatTool => ({ type: "function", function: { name } });
const tools = [tool("a"), tool("b"), tool("c")];
const allowing = (mode: "auto" | "required", ...allowed: unknown[]): ToolChoice => ({
	type: "allowed_tools",
	allowed_tools: { mode, tools: allowed },
});

describe("narrowTools", () => {
	it.each(["auto", "required"] as const)(
		"keeps the allowed tools in their order, and the mode %s",
		(mode) => {
			const tool_choice = allowing(mode, tool("c"), { type: "function", name: "a" });
			expect(narrowTools({ tools, tool_choice })).toEqual({
				tools: [tool("a"), tool("c")],
				tool_choice: mode,
			});
		},
	);

	it("allows no tool that is not offered, or has no name", () => {
		const tool_choice = allowing("auto", tool("d"), null, "a", { type: "web_search" });
		expect(narrowTools({ tools, tool_choice })).toEqual({ tools: [], tool_choice: "auto" });
		expect(narrowTools({ tool_choice })).toEqual({ tools: undefined, tool_choice: "auto" });
	});

	it.each<ToolChoice | undefined>([
		undefined,
		"none",
		"auto",
		"required",
		{ type: "function", function: { name: "b" } },
	])("changes nothing for %j", (tool_choice) => {
		expect(narrowTools({ tools, ...(tool_choice && { tool_choice }) })).toEqual({ tools, tool_choice });
	});
});
