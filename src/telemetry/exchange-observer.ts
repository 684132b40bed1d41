/**
 * Observers of exchanges: the ledger, the log and Analytics Engine. Each receives every failed call of an engine and the end
 * of every exchange; nothing else reports them.
 */
import type { Admission, Ledgers, Settlement } from "../accounts/admission.ts";
import type { AiError } from "../core/errors.ts";
import { dataPoint } from "./analytics.ts";

/** The facts about a request that observers receive. */
export interface ExchangeFacts {
	/** `cf-ai-req-id` */
	readonly id: string;
	readonly account: string;
}

export interface ExchangeEnd {
	/** Absent if the account did not admit the request. */
	settled?: {
		admission: Admission;
		settlement: Settlement;
		/** Input tokens that were written to a cache. Absent: none, or the engine does not count them. */
		cacheWriteTokens?: number;
	};
	/** The failure of the request or of its stream, unless {@link ExchangeObserver.attemptFailed} has reported it. */
	failure?: AiError;
}

export interface ExchangeObserver {
	/** A call of an engine failed, before or during its answer. */
	attemptFailed?(exchange: ExchangeFacts, failure: AiError): void;
	/** Called once for each exchange. Must not throw. */
	ended?(exchange: ExchangeFacts, end: ExchangeEnd): void;
}

/** Settles the reservation of every admitted request. */
export const ledgerObserver = (ledgers: Ledgers): ExchangeObserver => ({
	ended({ account }, { settled }) {
		if (settled) ledgers.of(account).settle(settled.settlement);
	},
});

export const analyticsObserver = (
	dataset: Pick<AnalyticsEngineDataset, "writeDataPoint">,
): ExchangeObserver => ({
	ended({ account }, { settled }) {
		if (settled) dataset.writeDataPoint(dataPoint(settled.settlement, settled.admission, account));
	},
});

export const logObserver = (log: FailureLog): ExchangeObserver => ({
	attemptFailed: ({ id }, failure) => log(failure, id),
	ended({ id }, { failure }) {
		if (failure) log(failure, id);
	},
});

type FailureLog = (error: AiError, requestId: string) => void;

/** The observers of every exchange, without the ledger. */
export const unbilledObserversOf = ({
	log,
	analytics,
}: {
	log: FailureLog;
	analytics?: AnalyticsEngineDataset | undefined;
}): ExchangeObserver[] => [...(analytics ? [analyticsObserver(analytics)] : []), logObserver(log)];

/** The observers of every exchange. */
export const observersOf = ({
	ledgers,
	requestTimes,
	...unbilled
}: {
	ledgers: Ledgers;
	log: FailureLog;
	requestTimes?: ExchangeObserver;
	analytics?: AnalyticsEngineDataset | undefined;
}): ExchangeObserver[] => [
	ledgerObserver(ledgers),
	...unbilledObserversOf(unbilled),
	...(requestTimes ? [requestTimes] : []),
];
