/** Counters and histograms of this process about the requests in gateways, for `/metrics`. */
import type { FailureKey } from "../../core/errors.ts";
import { counter, histogram, type Metric } from "../../core/metric.ts";
import { CounterSeries, DURATION_BOUNDS, HistogramSeries } from "../../core/series.ts";
import type { EndedRequest, EndObserver } from "../ended-request.ts";
import { costOf } from "../logs/cost.ts";

const MAX_LABEL_SETS = 2_000;
/** Each has a line for each bucket. */
const MAX_HISTOGRAMS = 300;

const counters = (...names: string[]): CounterSeries =>
	new CounterSeries({ names: ["account", "gateway", ...names], max: MAX_LABEL_SETS });
const times = (): HistogramSeries =>
	new HistogramSeries({
		names: ["account", "gateway", "provider"],
		max: MAX_HISTOGRAMS,
		bounds: DURATION_BOUNDS,
	});

/** The rules of a gateway that refuse requests. Other failures are no refusals of a gateway. */
const REFUSALS: Partial<Record<FailureKey, string>> = {
	gatewayLimited: "rate_limit",
	spendLimited: "spend_limit",
	requestLeak: "dlp_request",
	responseLeak: "dlp_response",
	promptBlocked: "guardrails_prompt",
	runPromptBlocked: "guardrails_prompt",
	responseBlocked: "guardrails_response",
	runResponseBlocked: "guardrails_response",
	guardrailsUnavailable: "guardrails_unavailable",
};

type RequestOutcome = "ok" | "cached" | "refused" | "failed" | "interrupted";

function outcomeOf({ end, failed }: EndedRequest): RequestOutcome {
	const { cached, failure, status = 500 } = end;
	if (cached) return "cached";
	if (failure && REFUSALS[failure]) return "refused";
	if (status >= 400) return "failed";
	return failed ? "interrupted" : "ok";
}

export class GatewayCounters {
	readonly #requests = counters("provider", "outcome");
	readonly #refused = counters("reason");
	readonly #findings = counters("by", "action");
	readonly #tokens = counters("provider", "kind");
	readonly #dollars = counters("provider");
	readonly #durations = times();
	readonly #firstBytes = times();

	readonly ended: EndObserver = (request) => {
		const { end, exchange, options, step } = request;
		const { account, gateway } = exchange;
		const provider = end.provider ?? step?.provider ?? "";
		const outcome = outcomeOf(request);
		const labels = [account, gateway, provider];
		this.#requests.add([...labels, outcome]);
		const reason = end.failure && REFUSALS[end.failure];
		if (reason) this.#refused.add([account, gateway, reason]);
		if (end.dlp) this.#findings.add([account, gateway, "dlp", end.dlp.action]);
		for (const { action } of end.guardrails ?? [])
			if (action) this.#findings.add([account, gateway, "guardrails", action]);
		const dollars = costOf(end, options);
		if (dollars) this.#dollars.add(labels, dollars);
		// A cached answer used no tokens.
		if (end.usage && !end.cached) {
			this.#tokens.add([...labels, "input"], end.usage.inputTokens);
			this.#tokens.add([...labels, "output"], end.usage.outputTokens);
		}
		if (outcome !== "ok" && outcome !== "cached") return;
		this.#durations.add(labels, end.durationMs / 1000);
		if (end.firstByteMs !== undefined) this.#firstBytes.add(labels, end.firstByteMs / 1000);
	};

	metrics(): Metric[] {
		return [
			counter(
				"gateway_requests_total",
				"Requests in gateways that ended. refused: by a rule of the gateway. interrupted: the answer broke off.",
				this.#requests.samples(),
			),
			counter(
				"gateway_refused_requests_total",
				"Requests that a rule of their gateway refused, by the rule.",
				this.#refused.samples(),
			),
			counter(
				"gateway_findings_total",
				"Requests in which data-loss prevention, and evaluations in which guardrails found something.",
				this.#findings.samples(),
			),
			counter("gateway_tokens_total", "Tokens of requests in gateways.", this.#tokens.samples()),
			counter(
				"gateway_cost_dollars_total",
				"Cost of requests in gateways in US dollars, as their logs have it. Cached answers cost nothing.",
				this.#dollars.samples(),
			),
			histogram(
				"gateway_request_duration_seconds",
				"Time of complete answers in gateways, cached ones included.",
				this.#durations.samples(),
			),
			histogram(
				"gateway_first_byte_seconds",
				"Time to the first byte of complete answers in gateways.",
				this.#firstBytes.samples(),
			),
		];
	}
}
