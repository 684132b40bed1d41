/** `web_search_options` of OpenAI's chat. The answer has only the citations, in `message.annotations`. */
import * as z from "zod";
import { openAiSearches } from "../../backends/own-features.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { parseAt } from "../../dialects/invalid-input.ts";
import { type HostedFormat, recordsIn } from "./hosted-request.ts";
import { ContextSize, Location } from "./search-fields.ts";
import { searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

const Options = lazy(() =>
	z.looseObject({
		search_context_size: ContextSize(),
		user_location: z.looseObject({ approximate: Location() }).nullish(),
	}),
);

export const chatTool: HostedFormat = {
	toolName: "web_search_options",
	field: "web_search_options",
	removesTool: true,
	isAtUpstream: openAiSearches,
	concerns: ({ web_search_options }) => isRecord(web_search_options),
	read(fields) {
		const { web_search_options, ...others } = fields;
		if (!isRecord(web_search_options) || fields.tool_choice === "none" || Number(fields.n ?? 1) > 1)
			return undefined;
		const { search_context_size, user_location } = parseAt(
			Options(),
			web_search_options,
			"web_search_options",
		);
		const tools = recordsIn(fields.tools);
		const toolName = searchToolName(
			tools.map((tool) => (isRecord(tool.function) ? tool.function.name : undefined)),
		);
		return {
			toolName,
			settings: searchToolSettings({
				contextSize: search_context_size,
				location: user_location?.approximate,
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
