/**
 * The hosted tool of OpenAI's Responses: `web_search`, `web_search_2025_08_26`, `web_search_preview` and its dated form.
 * https://platform.openai.com/docs/guides/tools-web-search
 */
import { isRecord } from "../../core/json.ts";
import { SEARCH_ITEM_PREFIX } from "../../dialects/responses/web-search.ts";
import { type HostedFormat, isOpenAi, recordsIn } from "./hosted-request.ts";
import { searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

const TYPE = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

const isSearch = ({ type }: Record<string, unknown>): boolean => typeof type === "string" && TYPE.test(type);

/** An item of an earlier answer that only the gateway knows. */
const isOwnItem = ({ type, id }: Record<string, unknown>): boolean =>
	type === "web_search_call" && typeof id === "string" && id.startsWith(SEARCH_ITEM_PREFIX);

export const responsesTool: HostedFormat = {
	isAtUpstream: isOpenAi,
	concerns: ({ tools, input }) =>
		(Array.isArray(tools) && recordsIn(tools).some(isSearch)) ||
		(Array.isArray(input) && recordsIn(input).some(isOwnItem)),
	read(fields) {
		const tools = recordsIn(fields.tools);
		const hosted = tools.find(isSearch);
		if (!hosted || fields.tool_choice === "none") return undefined;
		const { search_context_size, filters, user_location } = hosted;
		const toolName = searchToolName(tools.filter((tool) => !isSearch(tool)).map(({ name }) => name));
		const replacement = { type: "function", ...searchTool(toolName), strict: false };
		const { tools: _, tool_choice, ...others } = withoutItems(fields);
		const { allowed_domains, blocked_domains } = isRecord(filters) ? filters : {};
		return {
			toolName,
			settings: searchToolSettings({
				contextSize: search_context_size,
				maxUses: fields.max_tool_calls,
				allowedDomains: allowed_domains,
				blockedDomains: blocked_domains,
				country: isRecord(user_location) ? user_location.country : undefined,
			}),
			fields: () => ({
				...others,
				tools: [...tools.filter((tool) => !isSearch(tool)), replacement],
				...(tool_choice !== undefined && { tool_choice: choiceOf(tool_choice, toolName) }),
			}),
			echoed: { tools: fields.tools, ...(tool_choice !== undefined && { tool_choice }) },
			pending: [],
			style: { showsSearches: true, leavesPending: false, pauses: false },
		};
	},
	forUpstream: withoutItems,
	withoutTool: withoutItems,
};

/** The text after an item has what the model found. */
function withoutItems(fields: Record<string, unknown>): Record<string, unknown> {
	const { input } = fields;
	if (!Array.isArray(input)) return fields;
	return { ...fields, input: input.filter((item) => !isRecord(item) || !isOwnItem(item)) };
}

function choiceOf(choice: unknown, name: string): unknown {
	if (!isRecord(choice)) return choice;
	if (isSearch(choice)) return { type: "function", name };
	if (choice.type !== "allowed_tools") return choice;
	const tools = recordsIn(choice.tools).map((tool) => (isSearch(tool) ? { type: "function", name } : tool));
	return { ...choice, tools };
}
