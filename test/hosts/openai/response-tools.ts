/** Tools of the Responses API: which calls a model can make, and how each is written. */
import * as z from "zod";
import { idOf, type ToolUse } from "../script.ts";
import type { InputItem } from "./response-items.ts";

/** Tools of a namespace are offered as `{namespace}__{name}`. */
interface OfferedTool {
	kind: "function" | "custom" | "search";
	name: string;
	namespace?: string;
}
export type OfferedTools = ReadonlyMap<string, OfferedTool>;

const ToolDefinition = z.looseObject({
	type: z.string(),
	name: z.string().optional(),
	get tools() {
		return z.array(ToolDefinition).optional();
	},
});
const ToolList = z.looseObject({ tools: z.array(ToolDefinition).optional() });

/** The tools of the request, and those that items have added. */
export function offeredTools(tools: unknown, items: readonly InputItem[]): OfferedTools {
	const offered = new Map<string, OfferedTool>();
	const add = (definitions: readonly z.output<typeof ToolDefinition>[], namespace?: string): void => {
		for (const { name = "", tools: inner = [], type } of definitions) {
			const place = { name, ...(namespace !== undefined && { namespace }) };
			const flat = namespace === undefined ? name : `${namespace}__${name}`;
			if (type === "namespace") add(inner, name);
			if (type === "function") offered.set(flat, { kind: "function", ...place });
			if (type === "custom") offered.set(flat, { kind: "custom", ...place });
			if (type === "tool_search") offered.set("tool_search", { kind: "search", name: "tool_search" });
		}
	};
	add(z.array(ToolDefinition).catch([]).parse(tools));
	for (const item of items)
		if (item.type === "additional_tools" || item.type === "tool_search_output")
			add(ToolList.parse(item).tools ?? []);
	return offered;
}

export interface CallItem {
	id: string;
	type: string;
	status: string;
	[field: string]: unknown;
}

/** The item of a call, and the field that a stream sends in parts. */
export function callItem(
	{ input, name: flat }: ToolUse,
	offered: OfferedTools,
): { item: CallItem; part?: "arguments" | "input" } {
	const { kind, name, namespace } = offered.get(flat) ?? { kind: "function", name: flat };
	const head = { status: "completed", call_id: idOf("call_") };
	const place = { name, ...(namespace !== undefined && { namespace }) };
	switch (kind) {
		case "function":
			return {
				item: { id: idOf("fc_"), type: "function_call", ...head, ...place, arguments: JSON.stringify(input) },
				part: "arguments",
			};
		case "custom":
			return {
				item: { id: idOf("ctc_"), type: "custom_tool_call", ...head, ...place, input: String(input.input) },
				part: "input",
			};
		case "search":
			return {
				item: { id: idOf("tsc_"), type: "tool_search_call", ...head, execution: "client", arguments: input },
			};
	}
}
