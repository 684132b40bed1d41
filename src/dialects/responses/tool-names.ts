/**
 * Maps tool names between the caller and the engine.
 *
 * A flat name is never split, because `get__weather` is a valid function name. The tools of the request map it back. A model may
 * also write the name that its instructions use: the bare name of a tool in a namespace, or `{namespace}.{name}`. Such a name is
 * mapped if only one tool has it.
 */
import { createHash } from "node:crypto";
import { type ClientToolName, isClientTool } from "./client-tools.ts";

/** The longest function name that engines accept. */
const MAX_NAME_CHARACTERS = 64;
const HASH_CHARACTERS = 8;

export interface ToolName {
	kind: "function" | "custom" | ClientToolName;
	name: string;
	namespace?: string;
}

/** The engine's name of a tool. A name that is too long ends in its hash. */
export function flatName({
	name,
	namespace,
}: {
	name: string;
	namespace?: string | null | undefined;
}): string {
	const flat = namespace ? `${namespace}__${name}` : name;
	if (flat.length <= MAX_NAME_CHARACTERS) return flat;
	const hash = createHash("sha256").update(flat).digest("hex").slice(0, HASH_CHARACTERS);
	return `${flat.slice(0, MAX_NAME_CHARACTERS - HASH_CHARACTERS - 1)}_${hash}`;
}

export interface SentTool {
	type: string;
	[field: string]: unknown;
}

interface ToolSources {
	tools?: readonly SentTool[] | null | undefined;
	input?: unknown;
}

/** Items that add tools to those of the request. */
const TOOL_ITEMS: ReadonlySet<unknown> = new Set(["additional_tools", "tool_search_output"]);

/** The lists of tools in a request, with their places: its `tools`, and those of its items. The reader has parsed the request. */
export function toolLists({ tools, input }: ToolSources): { tools: readonly SentTool[]; at: string }[] {
	const lists = tools ? [{ tools, at: "tools" }] : [];
	if (!Array.isArray(input)) return lists;
	for (const [index, item] of input.entries())
		if (TOOL_ITEMS.has(item.type) && Array.isArray(item.tools))
			lists.push({ tools: item.tools.filter(isTool), at: `input[${index}].tools` });
	return lists;
}

const isTool = (sent: unknown): sent is SentTool =>
	typeof sent === "object" && sent !== null && "type" in sent && typeof sent.type === "string";

/** The caller's tools by the engine's names. The reader has checked the tools. */
export function toolNames(request: ToolSources): ReadonlyMap<string, ToolName> {
	const names = new Map<string, ToolName>();
	for (const { tools } of toolLists(request))
		for (const toolName of namesIn(tools)) names.set(flatName(toolName), toolName);
	const others = new Map<string, ToolName | undefined>();
	for (const toolName of names.values()) {
		const { name, namespace } = toolName;
		if (namespace === undefined) continue;
		for (const other of [name, `${namespace}.${name}`])
			others.set(other, others.has(other) ? undefined : toolName);
	}
	for (const [other, toolName] of others) if (toolName && !names.has(other)) names.set(other, toolName);
	return names;
}

/** The names of tools that may be of any form. */
export function namesIn(tools: readonly unknown[], namespace?: string): ToolName[] {
	return tools.filter(isTool).flatMap((tool): ToolName[] => {
		const { type, name } = tool;
		const place = namespace === undefined ? {} : { namespace };
		if (isClientTool(tool)) return [{ kind: tool.type, name: tool.type, ...place }];
		if (typeof name !== "string") return [];
		if (type === "namespace") return Array.isArray(tool.tools) ? namesIn(tool.tools, name) : [];
		return [{ kind: type === "custom" ? type : "function", name, ...place }];
	});
}
