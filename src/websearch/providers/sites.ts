import type { SearchQuery } from "../provider.ts";

/** Domains that fit into a query. The answer is filtered as well, so that domains which are left out cannot appear in it. */
const MAX_SITES = 4;

/** The query for an engine whose only filter is the operator `site:`. `maxCharacters`: of the complete query. */
export function withSites(
	{
		query,
		allowedDomains = [],
		blockedDomains = [],
	}: Pick<SearchQuery, "query" | "allowedDomains" | "blockedDomains">,
	maxCharacters: number,
): string {
	const allowed = allowedDomains.slice(0, MAX_SITES).map((domain) => `site:${domain}`);
	const blocked = blockedDomains.slice(0, MAX_SITES).map((domain) => `-site:${domain}`);
	const operators = [allowed.join(" OR "), ...blocked].filter(Boolean).join(" ");
	const room = maxCharacters - (operators ? operators.length + 1 : 0);
	return [query.slice(0, Math.max(1, room)).trim(), operators].filter(Boolean).join(" ");
}
