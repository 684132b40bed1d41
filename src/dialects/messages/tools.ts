/**
 * Tools of a Messages request. The caller's own tools are sent to the engine.
 *
 * Anthropic's own tools (`web_search_20250305`, `bash_20250124`) are dropped, because engines do not have them; `ChatInput.dropped`
 * lists them. A request is refused if it forces one of them, unless Anthropic may answer it. A tool of an unknown type with an
 * `input_schema` is read as the caller's own.
 *
 * Deferred tools (`defer_loading`) are omitted until the conversation refers to them, as in Anthropic's API: clients search
 * for tools themselves. If Anthropic would run the search (`tool_search_tool_…`), all tools are sent to the engine.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { breakpointOf } from "../chat/cache-control.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { invalidInput, parseElement } from "../invalid-input.ts";
import { NAMEABLE } from "../nameable.ts";
import { type BlockRules, type MessageContent, readOrReport } from "./blocks.ts";
import { changedTools } from "./tool-changes.ts";

const Loose = z.looseObject({ type: z.string().nullish() });

/** The loose schemas of the body. Each tool and the choice are parsed later. */
export const Tools = z.array(Loose);
export const Choice = z.looseObject({ type: z.string() });

// A union of one option, because `parseElement` reports an unsupported type of a union.
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

const DATE = /_\d{8}$/;
const SEARCHES_TOOLS = /^tool_search_tool/;

/** `web_search` for `web_search_20250305`; `undefined` for the caller's own tool. */
function hostedName(tool: SentTool): string | undefined {
	const { type } = tool;
	if (type == null || type === "custom" || !NAMEABLE.test(type)) return undefined;
	// With these fields it is the caller's, perhaps in another API's form.
	if ("input_schema" in tool || "function" in tool || "parameters" in tool) return undefined;
	return type.replace(DATE, "");
}

type SentTool = z.output<typeof Loose>;
interface SentFields {
	tools?: SentTool[] | null | undefined;
	tool_choice?: z.output<typeof Choice> | null | undefined;
	messages: readonly { role: string; content: MessageContent }[];
}
type ToolFields = Pick<ChatInput, "tools" | "tool_choice" | "parallel_tool_calls">;

/** Throws 8001. */
export function readToolFields(
	{ tools, tool_choice, messages }: SentFields,
	{ onUnsupported, onDropped }: Pick<BlockRules, "onUnsupported" | "onDropped">,
): ToolFields {
	const placed = (tools ?? []).map((tool, index) => ({ tool, at: `tools[${index}]` }));
	const sent = changedTools(placed, messages, { onUnsupported }).map(({ tool, at }) => ({
		tool,
		at,
		hosted: hostedName(tool),
	}));
	const isForced = ({ name }: SentTool): boolean => tool_choice?.type === "tool" && tool_choice.name === name;
	const isOnlyHosted = sent.every(({ hosted }) => hosted);
	for (const { tool, at, hosted } of sent) {
		if (!hosted) continue;
		onDropped(`tools.${hosted}`);
		if (!isForced(tool) && !(tool_choice?.type === "any" && isOnlyHosted)) continue;
		const refusal = invalidInput(
			`${at}.type: "${tool.type}" is a tool of Anthropic's own, which this model does not have`,
		);
		if (!onUnsupported) throw refusal;
		onUnsupported(refusal);
		return {};
	}

	const loaded = sent.some(({ hosted }) => SEARCHES_TOOLS.test(hosted ?? ""))
		? undefined
		: referredTools(messages);
	const isLoaded = (tool: SentTool): boolean =>
		tool.defer_loading !== true || !loaded || loaded.has(tool.name) || isForced(tool);
	const offered = sent.filter(({ tool, hosted }) => isLoaded(tool) && !hosted);
	const read = offered.flatMap(({ tool, at }) =>
		readOrReport(() => parseElement(CustomTool, asCustom(tool), at), onUnsupported).map(
			({ name, description, input_schema, strict }) => ({
				name,
				description,
				parameters: input_schema,
				strict,
				...breakpointOf(tool),
			}),
		),
	);
	// The choice may name a tool that only Anthropic can read. Anthropic checks it.
	if (read.length < offered.length) return read.length > 0 ? { tools: readTools(read) } : {};
	const choice = tool_choice ? parseElement(SentChoice, tool_choice, "tool_choice") : undefined;
	const chosen = chooseTools(readTools(read), choice && chatChoice(choice));
	const single = choice && choice.type !== "none" && choice.disable_parallel_tool_use === true;
	return { ...chosen, ...(single && chosen.tools && { parallel_tool_calls: false }) };
}

const asCustom = (tool: SentTool): SentTool => ("input_schema" in tool ? { ...tool, type: "custom" } : tool);

/** Names of the tools that earlier messages have found or called. */
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

/** The choice in chat's form. */
function chatChoice(choice: SentChoice): ChatInput["tool_choice"] {
	if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
	return choice.type === "any" ? "required" : choice.type;
}
