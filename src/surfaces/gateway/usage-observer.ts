import { MICRO_NEURONS } from "../../accounts/admission.ts";
import type { GatewayExchange } from "../../gateways/exchange.ts";
import { USD_PER_NEURON } from "../../models/neurons.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";

/** Reports the usage of a call of a model to the gateway's exchange. */
export const usageObserver = (exchange: GatewayExchange): ExchangeObserver => ({
	ended(_, { settled }) {
		if (!settled || settled.settlement.outcome === "failed") return;
		const { inputTokens, cachedTokens, outputTokens, microNeurons, outcome } = settled.settlement;
		const cost = (microNeurons / MICRO_NEURONS) * USD_PER_NEURON;
		exchange.report({
			usage: { inputTokens, cachedTokens, outputTokens, cost },
			interrupted: outcome === "interrupted",
		});
	},
});
