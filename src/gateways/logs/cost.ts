/** The cost of a request in US dollars. */
import type { GatewayUsage } from "../exchange.ts";
import type { CustomCost } from "../options.ts";

/** What the cost of a request depends on. */
interface Costs {
	usage?: GatewayUsage | undefined;
	customCost?: CustomCost | undefined;
	cached?: boolean | undefined;
}

/** An answer of the cache costs nothing. `null`: the cost is unknown. */
export function costOf({ usage, customCost, cached = false }: Costs): number | null {
	if (cached) return 0;
	if (!usage) return customCost?.total_cost ?? null;
	return customCost ? customCostOf(customCost, usage) : (usage.cost ?? null);
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
