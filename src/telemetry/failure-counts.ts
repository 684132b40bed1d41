/** The failures that callers of this process have received: what was refused or failed, and why. Counts and logs them. */
import type { AiError, FailureKey } from "../core/errors.ts";
import { counter, type Metric } from "../core/metric.ts";
import { CounterSeries } from "../core/series.ts";

/** Above the number of failures of the table, each of which has one or two statuses. */
const MAX_LABEL_SETS = 300;

/** `rule`: a gateway's spend limit, data-loss prevention or guardrails. `limit`: rates, budgets, plans. `server`: the gateway or an engine. */
type FailureClass = "authentication" | "limit" | "rule" | "capacity" | "request" | "cancelled" | "server";

const CLASSES: Partial<Record<FailureKey, FailureClass>> = {
	aborted: "cancelled",
	paidPlanRequired: "limit",
	outOfCapacity: "capacity",
	diskFull: "capacity",
	storageFull: "limit",
	responseStoreFull: "limit",
	gatewayRequired: "rule",
	spendLimited: "rule",
	promptBlocked: "rule",
	responseBlocked: "rule",
	runPromptBlocked: "rule",
	runResponseBlocked: "rule",
	requestLeak: "rule",
	responseLeak: "rule",
	guardrailsUnavailable: "rule",
	refusedByModel: "rule",
	providerUnreachable: "server",
	providerKeyRefused: "server",
	timeout: "server",
	modelTimeout: "server",
};

const SERVER_ERROR = 500;

export function failureClass({ key, status }: Pick<AiError, "key" | "status">): FailureClass {
	const named = CLASSES[key];
	if (named) return named;
	if (status === 401 || status === 403) return "authentication";
	if (status === 429 || status === 402) return "limit";
	return status >= SERVER_ERROR ? "server" : "request";
}

type FailureLog = (error: AiError, requestId: string) => void;

/** The log of the surfaces. A failure of an exchange is not logged again: its observers have logged it. */
export const surfaceLog =
	(log: FailureLog, counts?: FailureCounts): FailureLog =>
	(error, requestId) => {
		counts?.add(error);
		if (!error.exchange) log(error, requestId);
	};

export class FailureCounts {
	/** A failure may pass several places that report it. */
	readonly #counted = new WeakSet<AiError>();
	readonly #counts = new CounterSeries({
		names: ["class", "failure", "code", "status"],
		max: MAX_LABEL_SETS,
	});

	add(error: AiError): void {
		if (this.#counted.has(error)) return;
		this.#counted.add(error);
		this.#counts.add([failureClass(error), error.key, String(error.code), String(error.status)]);
	}

	metrics(): Metric[] {
		return [
			counter(
				"failures_total",
				"Failures that callers received, by class and reason. Includes requests that no account admitted.",
				this.#counts.samples(),
			),
		];
	}
}
