/**
 * Google's `googleSearch`, and its older name `googleSearchRetrieval`. https://ai.google.dev/gemini-api/docs/google-search
 * Both spellings of field names are accepted, as in Google's API.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { parseAt } from "../../dialects/invalid-input.ts";
import { type HostedFormat, recordsIn } from "./hosted-request.ts";
import { Domains } from "./search-fields.ts";
import { searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

const NAMES = ["googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval"] as const;

const Settings = lazy(() => z.looseObject({ excludeDomains: Domains(), exclude_domains: Domains() }));

const searchIn = (
	tool: Record<string, unknown>,
): { name: string; sent: Record<string, unknown> } | undefined => {
	const name = NAMES.find((each) => tool[each] != null);
	if (name === undefined) return undefined;
	const sent = tool[name];
	return { name, sent: isRecord(sent) ? sent : {} };
};

const declarationsOf = (tool: Record<string, unknown>): Record<string, unknown>[] =>
	recordsIn(tool.functionDeclarations ?? tool.function_declarations);

function withoutSearch(tools: readonly Record<string, unknown>[]): Record<string, unknown>[] {
	return tools.flatMap((tool) => {
		const others = Object.entries(tool).filter(([name]) => !NAMES.some((each) => each === name));
		return others.length > 0 ? [Object.fromEntries(others)] : [];
	});
}

export const geminiTool: HostedFormat = {
	toolName: "tools.googleSearch",
	removesTool: true,
	// Requests for Google are converted, and have no tool of Google.
	isAtUpstream: () => false,
	concerns: ({ tools }) =>
		Array.isArray(tools) && recordsIn(tools).some((tool) => searchIn(tool) !== undefined),
	read(fields) {
		const tools = recordsIn(fields.tools);
		const index = tools.findIndex((tool) => searchIn(tool) !== undefined);
		const search = tools[index] && searchIn(tools[index]);
		if (!search) return undefined;
		const settings = parseAt(Settings(), search.sent, `tools[${index}].${search.name}`);
		const toolName = searchToolName(tools.flatMap(declarationsOf).map(({ name }) => name));
		const { name, description, parameters } = searchTool(toolName);
		const declared = { functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] };
		return {
			toolName,
			settings: searchToolSettings({ blockedDomains: settings.excludeDomains ?? settings.exclude_domains }),
			fields: () => ({ ...fields, tools: [...withoutSearch(tools), declared] }),
			echoed: {},
			pending: [],
			style: { showsSearches: true, leavesPending: false, pauses: false },
		};
	},
	forUpstream: (fields) => fields,
	withoutTool: (fields) => ({ ...fields, tools: withoutSearch(recordsIn(fields.tools)) }),
};
