/** The cost of a request in US dollars. */
import type { GatewayUsage } from "../exchange.ts";
import type { CustomCost } from "../options.ts";

/** The price of neurons: https://developers.cloudflare.com/workers-ai/platform/pricing */
const DOLLARS_PER_NEURON = 0.011 / 1_000;

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
	return customCost ? customCostOf(customCost, usage) : usage.neurons * DOLLARS_PER_NEURON;
}

/**
 * `total_cost` replaces the prices of tokens. Cached tokens are part of the input; without a price of their own they cost as much
 * as the others.
 */
function customCostOf(
	{ per_token_in = 0, per_token_out = 0, per_cache_read_token = per_token_in, total_cost }: CustomCost,
	{ inputTokens, cachedTokens, outputTokens }: GatewayUsage,
): number {
	if (total_cost !== undefined) return total_cost;
	const fresh = Math.max(0, inputTokens - cachedTokens);
	return fresh * per_token_in + cachedTokens * per_cache_read_token + outputTokens * per_token_out;
}
