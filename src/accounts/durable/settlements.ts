/** Settlements as they are booked, whatever came. */
import type { Settlement } from "../admission.ts";
import type { OpenRequest } from "./request-rows.ts";

/** Of a request that nobody settled. */
export const expiredSettlement = ({ ticket, reserved }: OpenRequest): Settlement => ({
	ticket,
	outcome: "expired",
	microNeurons: reserved,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: true,
	backend: "",
	attempts: 0,
	latencyMs: 0,
});

/**
 * What can be booked: one count that is no count would keep its whole batch from ever being written. A price that is
 * none is the reservation's.
 */
export function validSettlement(settlement: Settlement, { reserved }: OpenRequest): Settlement {
	const { outcome, microNeurons } = settlement;
	return {
		...settlement,
		microNeurons: outcome === "failed" ? 0 : isCount(microNeurons) ? microNeurons : reserved,
		inputTokens: countOf(settlement.inputTokens),
		cachedTokens: countOf(settlement.cachedTokens),
		outputTokens: countOf(settlement.outputTokens),
		attempts: countOf(settlement.attempts),
		latencyMs: countOf(Math.round(settlement.latencyMs)),
		...(settlement.firstTokenMs !== undefined && {
			firstTokenMs: countOf(Math.round(settlement.firstTokenMs)),
		}),
	};
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const countOf = (value: number): number => (isCount(value) ? value : 0);
