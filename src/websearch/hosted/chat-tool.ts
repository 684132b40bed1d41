/** `web_search_options` of OpenAI's chat. The answer has only the citations, in `message.annotations`. */
import { isRecord } from "../../core/json.ts";
import { type HostedFormat, isOpenAi, recordsIn } from "./hosted-request.ts";
import { searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

export const chatTool: HostedFormat = {
	isAtUpstream: isOpenAi,
	concerns: ({ web_search_options }) => isRecord(web_search_options),
	read(fields) {
		const { web_search_options, ...others } = fields;
		if (!isRecord(web_search_options) || fields.tool_choice === "none" || Number(fields.n ?? 1) > 1)
			return undefined;
		const { search_context_size, user_location } = web_search_options;
		const location = isRecord(user_location) ? user_location.approximate : undefined;
		const tools = recordsIn(fields.tools);
		const toolName = searchToolName(
			tools.map((tool) => (isRecord(tool.function) ? tool.function.name : undefined)),
		);
		return {
			toolName,
			settings: searchToolSettings({
				contextSize: search_context_size,
				country: isRecord(location) ? location.country : undefined,
			}),
			fields: () => ({ ...others, tools: [...tools, { type: "function", function: searchTool(toolName) }] }),
			echoed: {},
			pending: [],
			style: { showsSearches: false, leavesPending: false, pauses: false },
		};
	},
	forUpstream: (fields) => fields,
	withoutTool: ({ web_search_options: _, ...fields }) => fields,
};
