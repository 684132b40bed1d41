/** Settlements in the form in which they are booked. */
import { NOTHING_USED, type Settlement } from "../admission.ts";
import type { OpenRequest } from "./request-rows.ts";

/** The settlement of an expired request: its reservation is charged. */
export const expiredSettlement = ({ ticket, reserved }: OpenRequest): Settlement => ({
	...NOTHING_USED,
	ticket,
	outcome: "expired",
	microNeurons: reserved,
	estimated: true,
	latencyMs: 0,
});

/**
 * Replaces invalid numbers, because one of them would fail the transaction of its batch every time. An invalid cost becomes the
 * reservation, an invalid count 0.
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
