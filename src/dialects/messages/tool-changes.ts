/**
 * Changes of the tools in the middle of a conversation: blocks of system messages that add or remove a tool from there on (betas
 * `mid-conversation-tool-changes-2026-07-01` and `inline-tools-2026-09-15`). Other engines get the tools that are left at the end.
 */
import * as z from "zod";
import { parseElement } from "../invalid-input.ts";
import {
	type BlockRules,
	type MessageContent,
	type PlacedBlock,
	placeBlocks,
	readOrReport,
} from "./blocks.ts";

const Reference = z.object({ type: z.literal("tool_reference"), name: z.string().min(1) });
const Definition = z.object({
	type: z.literal("tool_definition"),
	definition: z.looseObject({ type: z.string().nullish(), name: z.string().min(1) }),
});
const ToolChange = z.discriminatedUnion("type", [
	z.object({ type: z.literal("tool_addition"), tool: z.discriminatedUnion("type", [Reference, Definition]) }),
	z.object({ type: z.literal("tool_removal"), tool: Reference }),
]);

const TYPES: ReadonlySet<string> = new Set(["tool_addition", "tool_removal"]);
export const isToolChange = ({ type }: PlacedBlock["block"]): boolean => TYPES.has(type);

/** A tool of the request, and its place. */
export interface PlacedTool {
	tool: { type?: string | null | undefined; [field: string]: unknown };
	/** `tools[0]` */
	at: string;
}

/** An added tool is no longer deferred. Throws 8001. */
export function changedTools(
	tools: readonly PlacedTool[],
	messages: readonly { role: string; content: MessageContent }[],
	{ onUnsupported }: Pick<BlockRules, "onUnsupported">,
): PlacedTool[] {
	const changes = messages.flatMap(({ role, content }, place) =>
		role === "system"
			? placeBlocks(content, `messages[${place}].content`).filter(({ block }) => isToolChange(block))
			: [],
	);
	if (changes.length === 0) return [...tools];
	const defined = new Map(tools.map((placed) => [placed.tool.name, placed]));
	const offered = new Map(defined);
	for (const { block, at } of changes)
		for (const { tool, type } of readOrReport(() => parseElement(ToolChange, block, at), onUnsupported)) {
			const name = tool.type === "tool_reference" ? tool.name : tool.definition.name;
			if (tool.type === "tool_definition")
				defined.set(name, { tool: tool.definition, at: `${at}.tool.definition` });
			const known = defined.get(name);
			if (type === "tool_removal") offered.delete(name);
			else if (known) offered.set(name, { ...known, tool: { ...known.tool, defer_loading: false } });
		}
	return [...offered.values()];
}
