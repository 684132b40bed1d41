import { MICRO_NEURONS } from "../../accounts/admission.ts";
import type { Catalog } from "../../models/catalog.ts";
import { USD_PER_NEURON } from "../../models/neurons.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import type { SearchKeys } from "../../websearch/services.ts";
import { isSearchModel } from "../../websearch/settings.ts";
import type { GatewayExchange, GatewayUsage } from "../exchange.ts";
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
	let sum: GatewayUsage | undefined;
	return {
		used(usd) {
			sum = sumOf(sum, { inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: usd });
			exchange.report({ usage: sum });
		},
		ended(_, { settled }) {
			if (!settled || settled.settlement.outcome === "failed") return;
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
			sum = sumOf(sum, { ...tokens, ...(cost !== undefined && { cost }), ...(estimated && { estimated }) });
			exchange.report({ usage: sum, interrupted: outcome === "interrupted" });
		},
	};
}

function sumOf(one: GatewayUsage | undefined, other: GatewayUsage): GatewayUsage {
	if (!one) return other;
	const cost =
		one.cost === undefined && other.cost === undefined ? undefined : (one.cost ?? 0) + (other.cost ?? 0);
	const written = (one.cacheWriteTokens ?? 0) + (other.cacheWriteTokens ?? 0);
	return {
		inputTokens: one.inputTokens + other.inputTokens,
		cachedTokens: one.cachedTokens + other.cachedTokens,
		...(written > 0 && { cacheWriteTokens: written }),
		outputTokens: one.outputTokens + other.outputTokens,
		...(cost !== undefined && { cost }),
		...((one.estimated || other.estimated) && { estimated: true }),
	};
}
