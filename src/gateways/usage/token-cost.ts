/** The cost of tokens at a provider's price. */
import type { Model, PriceUnit } from "../../models/model.ts";
import { neurons, type Quantities, USD_PER_NEURON } from "../../models/neurons.ts";

const TOKEN_UNITS: ReadonlySet<PriceUnit> = new Set(["per M input tokens", "per M output tokens"]);

/**
 * US dollars. `undefined`: the price of the model is unknown, or is not per token. A price with a `priceSource` is the
 * operator's for a backend, not the provider's.
 */
export function tokenCost(
	model: Model | undefined,
	tokens: Pick<Quantities, "inputTokens" | "cachedTokens" | "cacheWriteTokens" | "outputTokens">,
): number | undefined {
	if (model?.priceSource !== undefined || !model?.prices.some(({ unit }) => TOKEN_UNITS.has(unit)))
		return undefined;
	return neurons(model.prices, tokens) * USD_PER_NEURON;
}
