/** Tools of a Messages request: the caller's own. Those that Anthropic runs or has trained for are refused by name. */
import * as z from "zod";
import type { ChatInput } from "../../tasks/text-generation.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { parseAt } from "../responses/parse.ts";
import { type Leave, readOr } from "./blocks.ts";

const Loose = z.looseObject({ type: z.string().nullish() });

/** As the body's schema leaves them. */
export const Tools = z.array(Loose);
export const Choice = z.looseObject({ type: z.string() });

// Unions of one, for their message.
const CustomTool = z.discriminatedUnion("type", [
	z.object({
		type: z
			.literal("custom")
			.nullish()
			.transform(() => "custom" as const),
		name: z.string().min(1),
		description: z.string().nullish(),
		input_schema: z.record(z.string(), z.unknown()),
		strict: z.boolean().nullish(),
	}),
]);
const single = { disable_parallel_tool_use: z.boolean().nullish() };
const SentChoice = z.discriminatedUnion("type", [
	z.object({ type: z.literal("none") }),
	z.object({ type: z.literal("auto"), ...single }),
	z.object({ type: z.literal("any"), ...single }),
	z.object({ type: z.literal("tool"), name: z.string(), ...single }),
]);
type SentChoice = z.output<typeof SentChoice>;

/** Throws 8001. */
export function readToolFields(
	sent: z.output<typeof Tools> | null | undefined,
	sentChoice: z.output<typeof Choice> | null | undefined,
	leave: Leave | undefined,
): Pick<ChatInput, "tools" | "tool_choice" | "parallel_tool_calls"> {
	const tools = (sent ?? []).flatMap((tool, place) =>
		readOr(() => parseAt(CustomTool, tool, `tools[${place}]`), leave).map(
			({ name, description, input_schema, strict }) => ({
				name,
				description,
				parameters: input_schema,
				strict,
			}),
		),
	);
	// A choice among tools of which some are another's to know is another's to check.
	if (tools.length < (sent?.length ?? 0)) return { ...(tools.length > 0 && { tools: readTools(tools) }) };
	const choice = sentChoice ? parseAt(SentChoice, sentChoice, "tool_choice") : undefined;
	const chosen = chooseTools(readTools(tools), choice && chatChoice(choice));
	const single = choice && choice.type !== "none" && choice.disable_parallel_tool_use === true;
	return { ...chosen, ...(single && chosen.tools && { parallel_tool_calls: false }) };
}

/** The choice under chat's names. */
function chatChoice(choice: SentChoice): ChatInput["tool_choice"] {
	if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
	return choice.type === "any" ? "required" : choice.type;
}
