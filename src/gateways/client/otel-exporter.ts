/**
 * Sends the spans and the metrics of requests to the collectors of their gateways, in the background. A collector that fails never affects a
 * request: what it does not take is dropped and counted ({@link CollectorCalls}).
 */
import type { FailedCollector } from "../../core/errors.ts";
import type { FairLine } from "../../core/fair-line.ts";
import { type Flushes, FlushSchedule, type FlushServices } from "../../core/flush-schedule.ts";
import type { Metric } from "../../core/metric.ts";
import { SharedCount } from "../../core/shared-count.ts";
import type { EndedRequest } from "../ended-request.ts";
import { Histograms } from "../export/metrics.ts";
import { otlpTraces } from "../export/otlp.ts";
import { CollectorCalls, type CollectorClient, type ExportingGateway } from "./collector-calls.ts";

/** Metrics of requests within this time are one point. */
const METRICS_WAIT_MS = 1_000;
/** With metrics that wait. */
const MAX_COLLECTORS = 1_000;

interface OtelExporterServices extends FlushServices {
	/** Of the calls under way. */
	exportLine: FairLine;
	/** Something was dropped. The cause contains no content of the request. */
	failed(cause: unknown, collector: FailedCollector): void;
}

/** How collectors may be reached. */
interface CollectorAccess {
	fetch: typeof fetch;
	/** Why the address is refused. */
	problem(url: string): string | undefined;
}

interface Metrics {
	histograms: Histograms;
	flushes: Flushes;
	/** Of the latest request. */
	source: ExportingGateway;
}

export class OtelExporter {
	readonly #services: OtelExporterServices;
	readonly #calls: CollectorCalls;
	readonly #metrics = new Map<CollectorClient, Metrics>();
	readonly #collectors = new SharedCount({
		name: "collectors",
		title: "collectors with metrics",
		max: MAX_COLLECTORS,
	});

	constructor(services: OtelExporterServices) {
		this.#services = services;
		this.#calls = new CollectorCalls(services);
	}

	metrics(): Metric[] {
		return this.#calls.metrics();
	}

	/** Never throws. */
	export(request: EndedRequest, { fetch, problem }: CollectorAccess): void {
		const { account, gateway } = request.exchange;
		let body: string | undefined;
		for (const target of request.settings.otel ?? []) {
			const spans = this.#calls.collectorOf({ account, target, kind: "spans" });
			// The address was stored before, when the rules may have differed.
			const reason = problem(target.url);
			if (reason !== undefined) {
				spans.drop("refused", { gateway, cause: new Error(reason) });
				continue;
			}
			if (spans.isPaused) spans.drop("paused");
			else {
				body ??= JSON.stringify(otlpTraces(request));
				this.#services.waitUntil(spans.send(body, { gateway, fetch }));
			}
			const url = metricsUrl(target.url);
			if (url === undefined) continue;
			this.#measure(
				request,
				this.#calls.collectorOf({ account, target: { ...target, url }, kind: "metrics" }),
				fetch,
			);
		}
	}

	#measure(request: EndedRequest, collector: CollectorClient, fetch: typeof globalThis.fetch): void {
		const { gateway } = request.exchange;
		const source = { gateway, fetch };
		const metrics = this.#metrics.get(collector) ?? this.#open(collector, source);
		if (!metrics) {
			collector.drop("full", { gateway, cause: new Error("Too many collectors") });
			return;
		}
		metrics.source = source;
		metrics.histograms.add(request);
		if (metrics.flushes.state === undefined) metrics.flushes.start(METRICS_WAIT_MS);
	}

	#open(collector: CollectorClient, source: ExportingGateway): Metrics | undefined {
		if (!this.#collectors.tryTake(collector.account)) return undefined;
		const histograms = new Histograms();
		const metrics: Metrics = {
			histograms,
			source,
			flushes: new FlushSchedule(this.#services).flushesOf({
				step: async () => {
					if (!histograms.isEmpty)
						await collector.send(JSON.stringify(histograms.take(this.#services.now())), metrics.source);
					return histograms.isEmpty ? undefined : METRICS_WAIT_MS;
				},
				// `send` never rejects.
				onGiveUp: () => {},
				onEnd: () => {
					if (this.#metrics.delete(collector)) this.#collectors.release(collector.account);
				},
			}),
		};
		this.#metrics.set(collector, metrics);
		return metrics;
	}
}

/** The address of metrics beside that of traces (OTLP/HTTP). `undefined`: the collector has an address of another form. */
function metricsUrl(traces: string): string | undefined {
	const url = new URL(traces);
	if (!url.pathname.endsWith("/v1/traces")) return undefined;
	url.pathname = url.pathname.replace(/traces$/, "metrics");
	return url.href;
}
