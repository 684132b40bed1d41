/**
 * Tools and the tool choice. The schemas do not check them, as in the product: its validator ignores the alternatives of
 * an array, so an unusable tool is refused after validation, with 8001 (observed).
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { present } from "../fields.ts";
import { describeIssue, invalidInput } from "../invalid-input.ts";

const FunctionTool = z.object({
	name: z.string().min(1),
	description: z.string().nullish(),
	parameters: z.record(z.string(), z.unknown()).nullish(),
	strict: z.boolean().nullish(),
});

/**
 * Reads flat tools (`{name, description, parameters}`) and OpenAI's tools (`{type, function}`). `placeOf` names a tool in
 * the error message. Throws 8001.
 */
export function readTools(
	tools: readonly unknown[] | null | undefined,
	placeOf = (index: number): string => `tools[${index}]`,
): ChatTool[] {
	return (tools ?? []).map((tool, index) => {
		const place = placeOf(index);
		const { type, function: nested } = isRecord(tool) ? tool : {};
		if (type !== undefined && type !== "function")
			throw invalidInput(`${place}.type must be function: other kinds of tools are not supported`);
		const at = nested === undefined ? place : `${place}.function`;
		const parsed = FunctionTool.safeParse(nested ?? tool);
		if (!parsed.success) throw invalidInput(describeIssue(parsed.error, at));
		const { name, ...others } = parsed.data;
		return { type: "function", function: { name, ...present(others) } };
	});
}

const ToolName = z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) });

const Choice = z.union([
	z.enum(["none", "auto", "required"]),
	ToolName,
	z.object({
		type: z.literal("allowed_tools"),
		allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(ToolName).min(1) }),
	}),
]);
type ToolChoice = z.output<typeof Choice>;

/**
 * The tools and the tool choice to send. Engines refuse a choice without tools: `none` and `auto` are then omitted, and a
 * choice that requires a call is an error. A choice of a tool that the request does not have is also an error. Throws 8001.
 */
export function chooseTools(tools: ChatTool[], choice: unknown): Pick<ChatInput, "tools" | "tool_choice"> {
	if (choice === undefined || choice === null) return tools.length > 0 ? { tools } : {};
	const parsed = Choice.safeParse(choice);
	if (!parsed.success)
		throw invalidInput(
			"tool_choice must be none, auto, required, or name a function or the allowed functions",
		);
	const tool_choice = parsed.data;
	if (tools.length === 0) {
		if (tool_choice === "none" || tool_choice === "auto") return {};
		throw invalidInput("tool_choice needs tools");
	}
	const offered = new Set(tools.map((tool) => tool.function.name));
	if (!namesOf(tool_choice).every((name) => offered.has(name)))
		throw invalidInput("tool_choice names a function that is not among the tools");
	return { tools, tool_choice };
}

function namesOf(choice: ToolChoice): string[] {
	if (typeof choice === "string") return [];
	if (choice.type === "function") return [choice.function.name];
	return choice.allowed_tools.tools.map((tool) => tool.function.name);
}
