/** The cost of a request in US dollars. */
import type { GatewayFacts } from "../exchange.ts";
import type { GatewayUsage } from "../gateway-usage.ts";
import type { CustomCost, GatewayOptions } from "../options.ts";

/**
 * An answer of the cache costs nothing. `null`: the cost is unknown, or there is none, because the request was refused or failed
 * before a model answered.
 */
export function costOf(
	{ usage, cached = false, status = 500 }: Pick<GatewayFacts, "usage" | "cached" | "status">,
	{ customCost }: Pick<GatewayOptions, "customCost">,
): number | null {
	if (cached) return 0;
	if (!usage) return status < 400 ? (customCost?.total_cost ?? null) : null;
	return customCost ? customCostOf(customCost, usage) : (usage.cost ?? null);
}

/**
 * What counts in a spend limit: the larger of the computed cost and the caller's, unless the token may name costs. Otherwise a caller
 * could avoid a limit with a cost of zero.
 */
export function spendOf(
	facts: GatewayFacts,
	options: Pick<GatewayOptions, "customCost" | "trustsCost">,
): number {
	const named = costOf(facts, options) ?? 0;
	return options.trustsCost ? named : Math.max(named, costOf(facts, {}) ?? 0);
}

/**
 * `total_cost` replaces the prices of tokens. Tokens that were read from or written to a cache are part of the input; without a price of
 * their own they cost as much as the others.
 */
function customCostOf(
	{
		per_token_in = 0,
		per_token_out = 0,
		per_cache_read_token = per_token_in,
		per_cache_write_token = per_token_in,
		total_cost,
	}: CustomCost,
	{ inputTokens, cachedTokens, cacheWriteTokens = 0, outputTokens }: GatewayUsage,
): number {
	if (total_cost !== undefined) return total_cost;
	const fresh = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
	const cached = cachedTokens * per_cache_read_token + cacheWriteTokens * per_cache_write_token;
	return fresh * per_token_in + cached + outputTokens * per_token_out;
}
