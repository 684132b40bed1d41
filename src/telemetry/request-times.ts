/** Histograms of this process: how long complete answers take, by model and backend. */
import { histogram, type Metric } from "../core/metric.ts";
import { DURATION_BOUNDS, HistogramSeries } from "../core/series.ts";
import type { ExchangeFacts, ExchangeObserver, SettledExchange } from "./exchange-observer.ts";

/** Each has a line for each bucket. */
const MAX_LABEL_SETS = 200;

const times = (): HistogramSeries =>
	new HistogramSeries({ names: ["model", "task", "backend"], max: MAX_LABEL_SETS, bounds: DURATION_BOUNDS });

export class RequestTimes implements ExchangeObserver {
	readonly #durations = times();
	readonly #firstTokens = times();

	settled(_: ExchangeFacts, { admission, settlement }: SettledExchange): void {
		if (settlement.outcome !== "ok") return;
		const { backend, firstTokenMs, latencyMs } = settlement;
		const labels = [admission.model, admission.task, backend];
		this.#durations.add(labels, latencyMs / 1000);
		// An answer that is not streamed has no first token of its own.
		if (firstTokenMs !== undefined && firstTokenMs !== latencyMs)
			this.#firstTokens.add(labels, firstTokenMs / 1000);
	}

	metrics(): Metric[] {
		return [
			histogram(
				"request_duration_seconds",
				"Time of complete answers, from the arrival of the request to the end of the answer.",
				this.#durations.samples(),
			),
			histogram(
				"first_token_seconds",
				"Time of streamed answers to their first part.",
				this.#firstTokens.samples(),
			),
		];
	}
}
