/**
 * Tools of a Messages request. The caller's own tools go to the engine.
 *
 * Tools of Anthropic's own (`web_search_20250305`, `bash_20250124`) are left out, because other makers' models do not
 * have them; `ChatInput.dropped` lists them. A request that needs one of them is refused: one that forces it, or one
 * that offers no other tool.
 *
 * Deferred tools (`defer_loading`) stay out until the conversation refers to them, as at Anthropic: clients search for
 * tools themselves. Where Anthropic would do the search (`tool_search_tool_…`), all tools go to the engine.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../chat/errors.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { parseAt } from "../responses/parse.ts";
import { type Content, type Leave, readOr } from "./blocks.ts";

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

/** The types of Anthropic's own tools end in a date, but for the tools of an MCP server. */
const HOSTED = /^([a-z][a-z0-9_]*?)_\d{8}$|^(mcp_toolset)$/;
const SEARCHES_TOOLS = /^tool_search_tool/;

/** `web_search` of `web_search_20250305`; nothing for a tool of the caller's own. */
function hostedName({ type }: SentTool): string | undefined {
	const [, dated, undated] = HOSTED.exec(type ?? "") ?? [];
	return dated ?? undated;
}

type SentTool = z.output<typeof Loose>;
interface SentFields {
	tools?: SentTool[] | null | undefined;
	tool_choice?: z.output<typeof Choice> | null | undefined;
	messages: readonly { content: Content }[];
}
type ToolFields = Pick<ChatInput, "tools" | "tool_choice" | "parallel_tool_calls" | "dropped">;

/** With `leave` the model is Anthropic's own, and has the tools that are dropped here. Throws 8001. */
export function readToolFields({ tools, tool_choice, messages }: SentFields, leave?: Leave): ToolFields {
	const sent = (tools ?? []).map((tool, index) => ({
		tool,
		at: `tools[${index}]`,
		hosted: hostedName(tool),
	}));
	const isForced = ({ name }: SentTool): boolean => tool_choice?.type === "tool" && tool_choice.name === name;
	const dropped = leave ? [] : sent.flatMap(({ hosted }) => hosted ?? []);
	if (!leave)
		for (const { tool, at, hosted } of sent)
			if (hosted && (dropped.length === sent.length || isForced(tool)))
				throw invalidInput(
					`${at}.type: "${tool.type}" is a tool of Anthropic's own, which this model does not have`,
				);

	const loaded = sent.some(({ hosted }) => SEARCHES_TOOLS.test(hosted ?? ""))
		? undefined
		: referredTools(messages);
	const isLoaded = (tool: SentTool): boolean =>
		tool.defer_loading !== true || !loaded || loaded.has(tool.name) || isForced(tool);
	const offered = sent.filter(({ tool, hosted }) => isLoaded(tool) && (leave || !hosted));
	const read = offered.flatMap(({ tool, at }) =>
		readOr(() => parseAt(CustomTool, tool, at), leave).map(({ name, description, input_schema, strict }) => ({
			name,
			description,
			parameters: input_schema,
			strict,
		})),
	);
	// The choice may name a tool that only Anthropic can read: Anthropic checks it.
	if (read.length < offered.length) return read.length > 0 ? { tools: readTools(read) } : {};
	const choice = tool_choice ? parseAt(SentChoice, tool_choice, "tool_choice") : undefined;
	const chosen = chooseTools(readTools(read), choice && chatChoice(choice));
	const single = choice && choice.type !== "none" && choice.disable_parallel_tool_use === true;
	return {
		...chosen,
		...(single && chosen.tools && { parallel_tool_calls: false }),
		...(dropped.length > 0 && { dropped: [...new Set(dropped)].map((name) => `tools.${name}`) }),
	};
}

/** Names of the tools that earlier turns have found or called. */
function referredTools(messages: SentFields["messages"]): ReadonlySet<unknown> {
	const names = new Set<unknown>();
	const visit = (content: unknown): void => {
		if (!Array.isArray(content)) return;
		for (const block of content) {
			if (!isRecord(block)) continue;
			if (block.type === "tool_reference") names.add(block.tool_name);
			if (block.type === "tool_use") names.add(block.name);
			if (block.type === "tool_result") visit(block.content);
		}
	};
	for (const { content } of messages) visit(content);
	return names;
}

/** The choice under chat's names. */
function chatChoice(choice: SentChoice): ChatInput["tool_choice"] {
	if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
	return choice.type === "any" ? "required" : choice.type;
}
