/** Tools and the tool choice. */
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import { grammarOf } from "./grammar.ts";
import type { Traits } from "./traits.ts";

export interface AnthropicTool {
	name: string;
	description?: string;
	input_schema: Record<string, unknown>;
	strict?: true;
	cache_control?: unknown;
}

type AnthropicChoice =
	| { type: "none" }
	| { type: "auto" | "any"; disable_parallel_tool_use?: true }
	| { type: "tool"; name: string; disable_parallel_tool_use?: true };

export interface Offer {
	tools: AnthropicTool[];
	/** Absent: the model decides. */
	choice?: AnthropicChoice;
}

/** `undefined` if there are no tools. */
export function offerOf(input: ChatInput, traits: Traits): Offer | undefined {
	const { tools: allowed = [], tool_choice } = narrowTools(input);
	if (allowed.length === 0) return undefined;
	const choice = choiceOf(tool_choice);
	const tools = allowed.map((tool) => toolOf(tool, traits));
	if (input.parallel_tool_calls !== false || choice?.type === "none")
		return choice ? { tools, choice } : { tools };
	return { tools, choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/** Whether the model must call a tool, which excludes thinking. */
export const isForced = ({ choice }: Offer): boolean => choice?.type === "any" || choice?.type === "tool";

function choiceOf(choice: ReturnType<typeof narrowTools>["tool_choice"]): AnthropicChoice | undefined {
	if (choice === undefined) return undefined;
	if (choice === "required") return { type: "any" };
	return typeof choice === "object" ? { type: "tool", name: choice.function.name } : { type: choice };
}

function toolOf(
	{ function: { name, description, parameters, strict } }: ChatTool,
	traits: Traits,
): AnthropicTool {
	const grammar = strict && traits.grammar ? grammarOf(parameters) : undefined;
	return {
		name,
		...(description && { description }),
		input_schema: grammar ?? { type: "object", properties: {}, ...parameters },
		...(grammar && { strict: true }),
	};
}
