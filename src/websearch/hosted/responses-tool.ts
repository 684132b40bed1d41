/**
 * The hosted tool of OpenAI's Responses: `web_search`, `web_search_2025_08_26`, `web_search_preview` and its dated form.
 * https://platform.openai.com/docs/guides/tools-web-search
 */
import * as z from "zod";
import { openAiSearches } from "../../backends/own-features.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { parseAt } from "../../dialects/invalid-input.ts";
import { SEARCH_ITEM_PREFIX } from "../../dialects/responses/web-search.ts";
import { type HostedFormat, recordsIn } from "./hosted-request.ts";
import { ContextSize, Domains, Location } from "./search-fields.ts";
import { searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

const TYPE = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

const isSearch = ({ type }: Record<string, unknown>): boolean => typeof type === "string" && TYPE.test(type);

const Tool = lazy(() =>
	z.looseObject({
		search_context_size: ContextSize(),
		filters: z.looseObject({ allowed_domains: Domains(), blocked_domains: Domains() }).nullish(),
		user_location: Location(),
	}),
);

type Fields = Record<string, unknown>;

/** An item of an earlier answer that only the gateway knows. */
const isOwnItem = ({ type, id }: Fields): boolean =>
	type === "web_search_call" && typeof id === "string" && id.startsWith(SEARCH_ITEM_PREFIX);

/** Codex adds tools by an item of the input. */
const addsSearch = ({ type, tools }: Fields): boolean =>
	type === "additional_tools" && recordsIn(tools).some(isSearch);

/** The lists of tools, with their places. */
const listsOf = ({ tools, input }: Fields): { at: string; tools: Fields[] }[] => [
	{ at: "tools", tools: recordsIn(tools) },
	...recordsIn(input).flatMap((item, index) =>
		addsSearch(item) ? [{ at: `input[${index}].tools`, tools: recordsIn(item.tools) }] : [],
	),
];

export const responsesTool: HostedFormat = {
	toolName: "tools.web_search",
	isAtUpstream: openAiSearches,
	concerns: ({ tools, input }) =>
		(Array.isArray(tools) && recordsIn(tools).some(isSearch)) ||
		(Array.isArray(input) && recordsIn(input).some((item) => isOwnItem(item) || addsSearch(item))),
	read(fields) {
		const lists = listsOf(fields);
		const list = lists.find(({ tools }) => tools.some(isSearch));
		if (!list || fields.tool_choice === "none") return undefined;
		const index = list.tools.findIndex(isSearch);
		const hosted = list.tools[index] ?? {};
		const { search_context_size, filters, user_location } = parseAt(Tool(), hosted, `${list.at}[${index}]`);
		const { max_tool_calls: maxCalls } = fields;
		const others = lists.flatMap(({ tools }) => tools.filter((tool) => !isSearch(tool)));
		const toolName = searchToolName(others.map(({ name }) => name));
		const replacement = { type: "function", ...searchTool(toolName), strict: false };
		const { tools, tool_choice, ...rest } = withoutSearch(fields);
		const isNamed = isRecord(tool_choice) && isSearch(tool_choice);
		return {
			toolName,
			isForced: isNamed || (tool_choice === "required" && others.length === 0),
			settings: searchToolSettings({
				contextSize: search_context_size,
				// The dialect refuses other values.
				maxUses: typeof maxCalls === "number" && maxCalls > 0 ? maxCalls : undefined,
				allowedDomains: filters?.allowed_domains,
				blockedDomains: filters?.blocked_domains,
				location: user_location,
			}),
			fields: () => ({
				...rest,
				tools: [...recordsIn(tools), replacement],
				...(tool_choice !== undefined && { tool_choice: choiceOf(tool_choice, toolName) }),
			}),
			echoed: {
				tools: fields.tools ?? [],
				...(tool_choice !== undefined && { tool_choice }),
			},
			pending: [],
			style: { showsSearches: true, leavesPending: false, pauses: false },
		};
	},
	forUpstream: withoutItems,
	withoutTool: withoutItems,
};

/** The text after an item has what the model found. */
function withoutItems(fields: Fields): Fields {
	const { input } = fields;
	if (!Array.isArray(input)) return fields;
	return { ...fields, input: input.filter((item) => !isRecord(item) || !isOwnItem(item)) };
}

function withoutSearch(fields: Fields): Fields {
	const { tools, input, ...others } = withoutItems(fields);
	const items = Array.isArray(input)
		? input.map((item: unknown) =>
				isRecord(item) && addsSearch(item)
					? { ...item, tools: recordsIn(item.tools).filter((tool) => !isSearch(tool)) }
					: item,
			)
		: input;
	return { ...others, input: items, tools: recordsIn(tools).filter((tool) => !isSearch(tool)) };
}

function choiceOf(choice: unknown, name: string): unknown {
	if (!isRecord(choice)) return choice;
	if (isSearch(choice)) return { type: "function", name };
	if (choice.type !== "allowed_tools") return choice;
	const tools = recordsIn(choice.tools).map((tool) => (isSearch(tool) ? { type: "function", name } : tool));
	return { ...choice, tools };
}
