/** Tools of a Responses request: functions, and which of them to call. Otherwise they are chat's, but for their shape. */
import * as z from "zod";
import type { ChatInput } from "../../tasks/text-generation.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { parseAt } from "./parse.ts";

const Tool = z.looseObject({ type: z.string() });
/** As the body's schema leaves them. */
export const Tools = z.array(Tool);
export const Choice = z.union([z.enum(["none", "auto", "required"]), Tool]);

// Unions of one, for their message: tools that OpenAI hosts (web search, files, code, MCP, …) are refused by name.
const FunctionTool = z.discriminatedUnion("type", [z.looseObject({ type: z.literal("function") })]);
const Named = z.discriminatedUnion("type", [z.object({ type: z.literal("function"), name: z.string() })]);
const NamedChoice = z.discriminatedUnion("type", [
	...Named.options,
	z.object({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: Tools }),
]);

type Sent<Schema extends z.ZodType> = z.output<Schema> | null | undefined;

/** Throws 8001. */
export function readToolFields(
	tools: Sent<typeof Tools>,
	choice: Sent<typeof Choice>,
): Pick<ChatInput, "tools" | "tool_choice"> {
	const functions = (tools ?? []).map((tool, place) => parseAt(FunctionTool, tool, `tools[${place}]`));
	return chooseTools(
		readTools(functions),
		typeof choice === "object" && choice ? chatChoice(choice) : choice,
	);
}

/** The choice under chat's names. */
function chatChoice(choice: z.output<typeof Tool>): object {
	const parsed = parseAt(NamedChoice, choice, "tool_choice");
	if (parsed.type === "function") return { type: "function", function: { name: parsed.name } };
	const tools = parsed.tools.map((tool, place) => {
		const { name } = parseAt(Named, tool, `tool_choice.tools[${place}]`);
		return { type: "function", function: { name } };
	});
	return { type: "allowed_tools", allowed_tools: { mode: parsed.mode, tools } };
}
