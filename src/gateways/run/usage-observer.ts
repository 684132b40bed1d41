import { MICRO_NEURONS } from "../../accounts/admission.ts";
import type { Catalog } from "../../models/catalog.ts";
import { USD_PER_NEURON } from "../../models/neurons.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import type { SearchKeys } from "../../websearch/services.ts";
import { isSearchModel } from "../../websearch/settings.ts";
import type { GatewayExchange } from "../exchange.ts";
import { tokenCost } from "../usage/token-cost.ts";

/**
 * Reports the usage of a call of a model to the gateway's exchange: the sum, if the call takes several exchanges, such as those of web
 * searches. The cost is that of its neurons, or that of its tokens at `providerPrices`: then the account pays the provider instead
 * of neurons.
 */
export function usageObserver(
	exchange: GatewayExchange,
	providerPrices?: Catalog,
): ExchangeObserver & Pick<SearchKeys, "used"> {
	return {
		used(usd) {
			exchange.reportUsage({}, { inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: usd });
		},
		settled(run, settled) {
			if (settled.settlement.outcome === "failed") return;
			const { inputTokens, cachedTokens, outputTokens, microNeurons, outcome, estimated } =
				settled.settlement;
			const { cacheWriteTokens } = settled;
			const tokens = {
				inputTokens,
				cachedTokens,
				outputTokens,
				...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
			};
			// A search with the operator's key, also beside a model with the account's key.
			const isPaidByAccount = providerPrices && !isSearchModel(settled.admission.model);
			const cost = isPaidByAccount
				? tokenCost(providerPrices.find(settled.admission.model), tokens)
				: (microNeurons / MICRO_NEURONS) * USD_PER_NEURON;
			exchange.reportUsage(run, {
				...tokens,
				...(cost !== undefined && { cost }),
				...(estimated && { estimated }),
			});
			exchange.report({ interrupted: outcome === "interrupted" });
		},
	};
}
