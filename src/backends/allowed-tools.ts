/** `tool_choice` with `allowed_tools`, for APIs without it. */
import { isRecord } from "../core/json.ts";
import type { ChatInput, ChatTool, ToolChoice } from "../tasks/text-generation/types.ts";

interface NarrowedTools {
	tools: ChatTool[] | undefined;
	tool_choice: Exclude<ToolChoice, { type: "allowed_tools" }> | undefined;
}

/** For all APIs except OpenAI's service, which alone has `allowed_tools`: removes the other tools, and leaves its mode. */
export function narrowTools({ tools, tool_choice }: Pick<ChatInput, "tools" | "tool_choice">): NarrowedTools {
	if (typeof tool_choice !== "object" || tool_choice.type !== "allowed_tools") return { tools, tool_choice };
	const { mode, tools: allowed } = tool_choice.allowed_tools;
	const names = new Set(allowed.map(nameOf));
	return { tools: tools?.filter((tool) => names.has(tool.function.name)), tool_choice: mode };
}

/** Callers send `{type: "function", function: {name}}` and `{type: "function", name}`. */
function nameOf(tool: unknown): unknown {
	if (!isRecord(tool)) return undefined;
	return "function" in tool ? nameOf(tool.function) : tool.name;
}
