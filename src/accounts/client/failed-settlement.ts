/** Settles an admission whose answer was lost: if the account admitted the request, the reservation is released. */
import { FAILURES } from "../../core/errors.ts";
import { type Admission, NOTHING_USED, type Settlement } from "../admission.ts";

export const failedSettlement = ({ ticket }: Admission): Settlement => ({
	...NOTHING_USED,
	ticket,
	outcome: "failed",
	latencyMs: 0,
	code: FAILURES.ledgerUnavailable.code,
});
