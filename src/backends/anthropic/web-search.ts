/** The tool of Anthropic's own web search: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool. */
import { present } from "../../core/present.ts";
import type { EngineSearch } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import type { Traits } from "./traits.ts";

export const SEARCH_NAME = "web_search";

export interface WebSearchTool {
	type: "web_search_20250305";
	name: typeof SEARCH_NAME;
	max_uses?: number;
	allowed_domains?: readonly string[];
	blocked_domains?: readonly string[];
	user_location?: object;
}

/** Anthropic's tool in the request. It has a fixed name, so a request with a function of that name is sent without. */
export function searchTools(
	search: EngineSearch | undefined,
	{ traits, functions }: { traits: Traits; functions: readonly { name: string }[] },
	{ report }: Pick<Call, "report">,
): WebSearchTool[] {
	if (!search) return [];
	if (!traits.searches || functions.some(({ name }) => name === SEARCH_NAME)) {
		report?.dropped.push(search.name);
		return [];
	}
	const { maxUses, location } = search;
	return [
		{
			type: "web_search_20250305",
			name: SEARCH_NAME,
			...present({ max_uses: maxUses }),
			...domainsOf(search),
			...(location && { user_location: { type: "approximate", ...location } }),
		},
	];
}

/** The API refuses both lists in one request. */
function domainsOf({ allowedDomains, blockedDomains = [] }: EngineSearch): Partial<WebSearchTool> {
	if (allowedDomains)
		return { allowed_domains: allowedDomains.filter((domain) => !blockedDomains.includes(domain)) };
	return blockedDomains.length > 0 ? { blocked_domains: blockedDomains } : {};
}
