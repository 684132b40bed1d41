/** The log of the surfaces, which log the failures that callers receive. */
import type { AiError } from "../core/errors.ts";
import type { FailureCounts } from "./failure-counts.ts";

type FailureLog = (error: AiError, requestId: string) => void;

/** Skips failures of an exchange, because its observers have logged them. */
export const logUnreported =
	(log: FailureLog): FailureLog =>
	(error, requestId) => {
		if (!error.exchange) log(error, requestId);
	};

export const countingLog =
	(counts: FailureCounts, log: FailureLog): FailureLog =>
	(error, requestId) => {
		counts.add(error);
		log(error, requestId);
	};
