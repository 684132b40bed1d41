/**
 * Observers of exchanges: the log and Analytics Engine. They receive every failed call of an engine, and the settlement and
 * the failure of every exchange; nothing else reports them.
 */
import type { Admission, Settlement } from "../accounts/admission.ts";
import type { AiError } from "../core/errors.ts";
import { dataPoint } from "./analytics.ts";

/** The facts about a request that observers receive. */
export interface ExchangeFacts {
	/** `cf-ai-req-id` */
	readonly id: string;
	readonly account: string;
}

export interface SettledExchange {
	admission: Admission;
	settlement: Settlement;
	/** Input tokens that were written to a cache. Absent: none, or the engine does not count them. */
	cacheWriteTokens?: number;
}

/** No method may throw. */
export interface ExchangeObserver {
	/** A call of an engine failed, before or during its answer. */
	attemptFailed?(exchange: ExchangeFacts, failure: AiError): void;
	/** The exchange has ended. Called once for each that the account has admitted. */
	settled?(exchange: ExchangeFacts, settled: SettledExchange): void;
	/** The exchange has ended with a failure of the request or of its stream, which {@link attemptFailed} has not reported. */
	failed?(exchange: ExchangeFacts, failure: AiError): void;
}

export const analyticsObserver = (
	dataset: Pick<AnalyticsEngineDataset, "writeDataPoint">,
): ExchangeObserver => ({
	settled({ account }, { settlement, admission }) {
		dataset.writeDataPoint(dataPoint(settlement, admission, account));
	},
});

export const logObserver = (log: FailureLog): ExchangeObserver => ({
	attemptFailed: ({ id }, failure) => log(failure, id),
	failed: ({ id }, failure) => log(failure, id),
});

type FailureLog = (error: AiError, requestId: string) => void;

/** The observers of every exchange. */
export const observersOf = ({
	log,
	analytics,
}: {
	log: FailureLog;
	analytics?: AnalyticsEngineDataset | undefined;
}): ExchangeObserver[] => [...(analytics ? [analyticsObserver(analytics)] : []), logObserver(log)];
