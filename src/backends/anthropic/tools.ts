/** Tools and the choice among them. */
import * as z from "zod";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { grammarOf } from "./grammar.ts";
import type { Traits } from "./traits.ts";

export interface AnthropicTool {
	name: string;
	description?: string;
	input_schema: Record<string, unknown>;
	strict?: true;
	cache_control?: unknown;
}

export type AnthropicChoice =
	| { type: "none" }
	| { type: "auto" | "any"; disable_parallel_tool_use?: true }
	| { type: "tool"; name: string; disable_parallel_tool_use?: true };

export interface Offer {
	tools: AnthropicTool[];
	/** Absent: as the model likes. */
	choice?: AnthropicChoice;
}

/** `undefined` where there are no tools. */
export function offerOf(input: ChatInput, traits: Traits): Offer | undefined {
	const { allowed, choice } = chosen(input);
	if (allowed.length === 0) return undefined;
	const tools = allowed.map((tool) => toolOf(tool, traits));
	if (input.parallel_tool_calls !== false || choice?.type === "none")
		return choice ? { tools, choice } : { tools };
	return { tools, choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/** Whether the model must call something, which it cannot do while it thinks. */
export const isForced = ({ choice }: Offer): boolean => choice?.type === "any" || choice?.type === "tool";

const ToolReference = z.object({ function: z.object({ name: z.string() }) });

/** There is no choice among some: the others are not shown. */
function chosen({ tools = [], tool_choice: wanted }: ChatInput): {
	allowed: ChatTool[];
	choice?: AnthropicChoice;
} {
	switch (wanted) {
		case undefined:
			return { allowed: tools };
		case "none":
		case "auto":
			return { allowed: tools, choice: { type: wanted } };
		case "required":
			return { allowed: tools, choice: { type: "any" } };
	}
	if (wanted.type === "function")
		return { allowed: tools, choice: { type: "tool", name: wanted.function.name } };
	const { mode, tools: listed } = wanted.allowed_tools;
	const names = new Set(listed.map((tool) => ToolReference.safeParse(tool).data?.function.name));
	return {
		allowed: tools.filter((tool) => names.has(tool.function.name)),
		choice: { type: mode === "required" ? "any" : "auto" },
	};
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
