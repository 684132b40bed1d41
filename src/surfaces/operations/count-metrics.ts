/** Metrics of what a process holds, by class (`core/shared-count.ts`), and of its connection guard. */
import { counter, gauge, type Metric, type MetricSample } from "../../core/metric.ts";
import type { CountReport, SeparatedRequests } from "../../core/shared-count.ts";

export function countMetrics(counts: readonly CountReport[]): Metric[] {
	const samples = (value: (count: CountReport) => number): MetricSample[] =>
		counts
			.map((count): MetricSample => [{ class: count.name }, value(count)])
			.filter(([, amount]) => Number.isFinite(amount));
	return [
		gauge(
			"held",
			"What the process holds of each class: docs/security.md, What a process holds.",
			samples(({ used }) => used),
		),
		gauge(
			"held_limit",
			"The most that the process may hold. Absent if the platform has the limit.",
			samples(({ limit }) => limit),
		),
		counter(
			"held_refused_total",
			"Refusals (429 or 503) because the process held as much as it may, since its start.",
			samples(({ refused }) => refused),
		),
	];
}

export const separatedMetrics = (separated: SeparatedRequests | undefined): Metric[] =>
	separated
		? [
				gauge(
					"separates_large",
					"1 while large requests are separated: docs/self-hosting.md, Large requests apart.",
					[[{}, Number(separated.separatesLarge)]],
				),
				counter("separated_requests_total", "Requests while large ones were separated, since the start.", [
					[{ size: "large" }, separated.large],
					[{ size: "small" }, separated.small],
				]),
			]
		: [];
