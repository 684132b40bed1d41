/**
 * Tools and the choice among them. The schemas leave both open, because the product does: its validator does not look
 * into the alternatives of an array, so a tool that no engine can use is refused behind it, with 8001 (observed).
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "./errors.ts";

const FunctionTool = z.object({
	name: z.string().min(1),
	description: z.string().nullish(),
	parameters: z.record(z.string(), z.unknown()).nullish(),
	strict: z.boolean().nullish(),
});

/**
 * Flat (`{name, description, parameters}`) and OpenAI's (`{type, function}`) to OpenAI's. `placeOf` names a tool in a
 * refusal. Throws 8001.
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
		if (!parsed.success) throw invalidInput(fault(parsed.error, at));
		const { name, description, parameters, strict } = parsed.data;
		return {
			type: "function",
			function: {
				name,
				...(description != null && { description }),
				...(parameters != null && { parameters }),
				...(strict != null && { strict }),
			},
		};
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
 * The tools to offer and how to choose among them. Without tools, a choice that asks for nothing is left out, because
 * engines refuse it; one that asks for a call is an error, and so is one of a tool that is not there. Throws 8001.
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

/** The first thing wrong, as a sentence that begins with its place. */
export function fault(error: z.ZodError, at: string): string {
	const [issue] = error.issues;
	const place = (issue?.path ?? []).reduce<string>(
		(path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
		at,
	);
	// zod begins as the failure does.
	const message = issue?.message.replace(/^Invalid input(?:: )?/, "");
	return `${place}: ${message || "is not valid"}`;
}
