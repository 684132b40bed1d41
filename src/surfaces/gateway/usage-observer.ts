import { MICRO_NEURONS } from "../../accounts/admission.ts";
import type { GatewayExchange } from "../../gateways/exchange.ts";
import { tokenCost } from "../../gateways/usage/token-cost.ts";
import type { Catalog } from "../../models/catalog.ts";
import { USD_PER_NEURON } from "../../models/neurons.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";

/**
 * Reports the usage of a call of a model to the gateway's exchange. The cost is that of its neurons, or that of its tokens at
 * `providerPrices`: then the account pays the provider instead of neurons.
 */
export const usageObserver = (exchange: GatewayExchange, providerPrices?: Catalog): ExchangeObserver => ({
	ended(_, { settled }) {
		if (!settled || settled.settlement.outcome === "failed") return;
		const { inputTokens, cachedTokens, outputTokens, microNeurons, outcome, estimated } = settled.settlement;
		const tokens = { inputTokens, cachedTokens, outputTokens };
		const cost = providerPrices
			? tokenCost(providerPrices.find(settled.admission.model), tokens)
			: (microNeurons / MICRO_NEURONS) * USD_PER_NEURON;
		exchange.report({
			usage: { ...tokens, ...(cost !== undefined && { cost }), ...(estimated && { estimated }) },
			interrupted: outcome === "interrupted",
		});
	},
});
