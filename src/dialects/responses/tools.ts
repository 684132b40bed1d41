/**
 * Converts the tools of a Responses request to functions, the only kind of tool that chat engines have.
 *
 * - Each tool of a namespace becomes a function with the name `{namespace}__{name}`.
 * - A custom tool becomes a function with one string parameter (`custom-tools.ts`).
 * - A tool that the caller runs and that has an item type of its own becomes a function (`client-tools.ts`).
 * - A tool of an unknown type with a name and parameters is read as a function.
 * - Tools that OpenAI hosts, or that only OpenAI's models have, are dropped, unless the request forces them.
 *
 * The tools are those of the request, and those that items of its input add (`toolLists`). A later tool with the same name
 * replaces the earlier one.
 *
 * Calls are mapped back with the request's own list of names (`tool-names.ts`).
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { CustomFormat, customFunction } from "../chat/custom-tools.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { invalidInput, parseElement } from "../invalid-input.ts";
import { NAMEABLE } from "../nameable.ts";
import { clientFunction, isClientTool } from "./client-tools.ts";
import { flatName, type ToolName, toolLists } from "./tool-names.ts";

const Tool = z.looseObject({ type: z.string() });
type Tool = z.output<typeof Tool>;
/** The loose schemas of the body. Each tool and the choice are parsed later. */
export const Tools = z.array(Tool);
export const Choice = z.union([z.enum(["none", "auto", "required"]), Tool]);

const Name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const Functional = z.discriminatedUnion("type", [
	z.looseObject({ type: z.literal("function"), name: Name }),
	z.object({
		type: z.literal("custom"),
		name: Name,
		description: z.string().nullish(),
		format: CustomFormat().nullish(),
	}),
	z.object({ type: z.literal("namespace"), name: Name, tools: Tools }),
]);

const Named = z.discriminatedUnion("type", [
	z.object({ type: z.literal("function"), name: z.string(), namespace: z.string().nullish() }),
	z.object({ type: z.literal("custom"), name: z.string(), namespace: z.string().nullish() }),
]);
const NamedChoice = z.discriminatedUnion("type", [
	...Named.options,
	z.object({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: Tools.min(1) }),
]);

type Sent<Schema extends z.ZodType> = z.output<Schema> | null | undefined;

interface ToolList {
	tools: (ToolName & { at: string; tool: ChatTool })[];
	/** The types of dropped tools, each with its first place. */
	hosted: Map<string, string>;
}

interface SentFields {
	tools?: Sent<typeof Tools>;
	tool_choice?: Sent<typeof Choice>;
	input: unknown;
}

/** Throws 8001. */
export function readToolFields(request: SentFields): Pick<ChatInput, "tools" | "tool_choice" | "dropped"> {
	const lists = toolLists(request).map(({ tools, at }) => readToolList(tools, at));
	const tools = distinctTools(lists.flatMap((list) => list.tools));
	const hosted = new Map<string, string>();
	for (const [type, first] of lists.flatMap((list) => [...list.hosted]))
		if (!hosted.has(type)) hosted.set(type, first);
	const { tool_choice: choice } = request;
	const [forced] = hosted;
	if (choice === "required" && tools.length === 0 && forced) throw unsupported(forced[1], forced[0]);
	const dropped = [...hosted.keys()].map((type) => `tools.${type}`);
	return {
		...chooseTools(tools, typeof choice === "object" && choice ? chatChoice(choice) : choice),
		...(dropped.length > 0 && { dropped }),
	};
}

function readToolList(tools: readonly Tool[], at: string, namespace?: string): ToolList {
	const list: ToolList = { tools: [], hosted: new Map() };
	for (const [index, sent] of tools.entries()) {
		const here = `${at}[${index}]`;
		if (isHosted(sent)) {
			if (!list.hosted.has(sent.type)) list.hosted.set(sent.type, here);
			continue;
		}
		const tool = parseElement(Functional, functional(sent), here);
		if (tool.type === "namespace") {
			const inner = readToolList(tool.tools, `${here}.tools`, tool.name);
			list.tools.push(...inner.tools);
			for (const [type, first] of inner.hosted) if (!list.hosted.has(type)) list.hosted.set(type, first);
			continue;
		}
		const kind = isClientTool(sent) ? sent.type : tool.type;
		const name = { kind, name: tool.name, ...(namespace !== undefined && { namespace }) };
		const declared = tool.type === "custom" ? customFunction(tool) : tool;
		const [read] = readTools([declared], () => here);
		if (read)
			list.tools.push({
				...name,
				at: here,
				tool: { ...read, function: { ...read.function, name: flatName(name) } },
			});
	}
	return list;
}

const FUNCTIONAL: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);
const isHosted = (tool: Tool): boolean =>
	!FUNCTIONAL.has(tool.type) &&
	NAMEABLE.test(tool.type) &&
	!isClientTool(tool) &&
	!isFunction(tool) &&
	!("function" in tool);

/** A tool of another type that has all that a function needs. */
const isFunction = ({ name, parameters }: Tool): boolean => typeof name === "string" && isRecord(parameters);

/** The tool with the type by which it is read here. */
function functional(tool: Tool): Tool {
	if (FUNCTIONAL.has(tool.type)) return tool;
	if (isClientTool(tool)) return { ...tool, ...clientFunction(tool), type: "function" };
	return isFunction(tool) ? { ...tool, type: "function" } : tool;
}

const unsupported = (at: string, type: string) =>
	invalidInput(`${at}.type: ${JSON.stringify(type)} is not supported`);

/** The tools for the engine. Throws 8001 if different tools have the same name there. */
function distinctTools(tools: ToolList["tools"]): ChatTool[] {
	const byFlatName = new Map<string, ToolList["tools"][number]>();
	for (const tool of tools) {
		const flat = tool.tool.function.name;
		const other = byFlatName.get(flat);
		if (other && (other.kind !== tool.kind || other.namespace !== tool.namespace || other.name !== tool.name))
			throw invalidInput(`${tool.at}.name: ${other.at} has the same name for the engine, ${flat}`);
		byFlatName.set(flat, tool);
	}
	return [...byFlatName.values()].map(({ tool }) => tool);
}

/** The choice in chat's form. */
function chatChoice(choice: Tool): unknown {
	if (isClientTool(choice)) return namedFunction({ name: choice.type });
	const parsed = parseElement(NamedChoice, choice, "tool_choice");
	if (parsed.type !== "allowed_tools") return namedFunction(parsed);
	const allowed = parsed.tools.flatMap((tool, index) =>
		isHosted(tool) ? [] : [namedFunction(namedTool(tool, `tool_choice.tools[${index}]`))],
	);
	if (allowed.length > 0)
		return { type: "allowed_tools", allowed_tools: { mode: parsed.mode, tools: allowed } };
	if (parsed.mode === "auto") return "none";
	throw unsupported("tool_choice.tools[0]", parsed.tools[0]?.type ?? "");
}

const namedTool = (tool: Tool, at: string): Parameters<typeof flatName>[0] =>
	isClientTool(tool) ? { name: tool.type } : parseElement(Named, tool, at);

const namedFunction = ({ name, namespace }: Parameters<typeof flatName>[0]): object => ({
	type: "function",
	function: { name: flatName({ name, namespace }) },
});
