/** Settles an admission whose answer was lost: if the account admitted the request, the reservation is released. */
import { FAILURES } from "../../core/errors.ts";
import type { Admission, Settlement } from "../admission.ts";

export const failedSettlement = ({ ticket }: Admission): Settlement => ({
	ticket,
	outcome: "failed",
	microNeurons: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: false,
	backend: "",
	attempts: 0,
	latencyMs: 0,
	code: FAILURES.ledgerUnavailable.code,
});
