/** The settlement of a request that was let in, but whose answer from the account was lost: it holds no reservation. */
import { FAILURES } from "../../core/errors.ts";
import type { Admission, Settlement } from "../admission.ts";

export const neverServed = ({ ticket }: Admission): Settlement => ({
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
