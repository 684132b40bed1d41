/**
 * Sends the spans and the metrics of requests to the collectors of their gateways, in the background. A collector that fails never affects a
 * request: what it does not take is dropped and counted.
 */
import { type Flushes, FlushSchedule, type FlushServices } from "../../core/flush-schedule.ts";
import { MAX_HOPS, withHops } from "../../outbound/hops.ts";
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { shortCall } from "../../outbound/short-call.ts";
import type { EndedRequest } from "../ended-request.ts";
import { Histograms } from "../export/metrics.ts";
import { otlpTraces } from "../export/otlp.ts";
import type { OtelTarget } from "../settings.ts";

/** Bodies that are being sent. A collector that does not answer must not fill the memory. */
const MAX_SENDING = 200;
/** Metrics of requests within this time are one point. */
const METRICS_WAIT_MS = 1_000;
/** Collectors with metrics that wait. */
const MAX_COLLECTORS = 1_000;

interface OtelExporterServices extends FlushServices {
	/** Something was dropped. The cause contains no content of the request. */
	failed(cause: unknown): void;
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
	fetch: typeof fetch;
}

export class OtelExporter {
	readonly #services: OtelExporterServices;
	/** By the JSON of the collector. */
	readonly #metrics = new Map<string, Metrics>();
	#sending = 0;
	#dropped = 0;

	constructor(services: OtelExporterServices) {
		this.#services = services;
	}

	/** Bodies that were dropped by this isolate. */
	get dropped(): number {
		return this.#dropped;
	}

	/** Never throws. */
	export(request: EndedRequest, { fetch, problem }: CollectorAccess): void {
		const targets = request.settings.otel ?? [];
		if (targets.length === 0) return;
		const body = JSON.stringify(otlpTraces(request));
		for (const target of targets) {
			// The address was stored before, when the rules may have differed.
			const reason = problem(target.url);
			if (reason !== undefined) {
				this.#drop(new Error(reason));
				continue;
			}
			this.#services.waitUntil(this.#send(target, body, fetch));
			const url = metricsUrl(target.url);
			if (url !== undefined) this.#measure(request, { ...target, url }, fetch);
		}
	}

	#measure(request: EndedRequest, target: OtelTarget, fetch: typeof globalThis.fetch): void {
		const key = JSON.stringify(target);
		const metrics = this.#metrics.get(key) ?? this.#open(key, target, fetch);
		if (!metrics) {
			this.#drop(new Error("Too many collectors"));
			return;
		}
		metrics.fetch = fetch;
		metrics.histograms.add(request);
		if (metrics.flushes.state === undefined) metrics.flushes.start(METRICS_WAIT_MS);
	}

	#open(key: string, target: OtelTarget, fetch: typeof globalThis.fetch): Metrics | undefined {
		if (this.#metrics.size >= MAX_COLLECTORS) return undefined;
		const histograms = new Histograms();
		const metrics: Metrics = {
			histograms,
			fetch,
			flushes: new FlushSchedule(this.#services).flushesOf({
				step: async () => {
					if (!histograms.isEmpty)
						await this.#send(target, JSON.stringify(histograms.take(this.#services.now())), metrics.fetch);
					return histograms.isEmpty ? undefined : METRICS_WAIT_MS;
				},
				// `#send` never rejects.
				onGiveUp: () => {},
				onEnd: () => void this.#metrics.delete(key),
			}),
		};
		this.#metrics.set(key, metrics);
		return metrics;
	}

	async #send(
		{ url, headers, authorization }: OtelTarget,
		body: string,
		fetch: typeof globalThis.fetch,
	): Promise<void> {
		if (this.#sending >= MAX_SENDING) {
			this.#dropped++;
			return;
		}
		this.#sending++;
		try {
			// A collector that is a gateway exports no request of an exporter.
			const { ok, status } = await withHops(MAX_HOPS - 1, () =>
				shortCall({
					fetch,
					url,
					method: "POST",
					body,
					headers: {
						...headers,
						...(authorization && { authorization }),
						"content-type": "application/json",
					},
					...SHORT_CALLS.collector,
				}),
			);
			if (!ok) throw new Error(`The collector answered with status ${status}`);
		} catch (cause) {
			this.#drop(cause);
		} finally {
			this.#sending--;
		}
	}

	#drop(cause: unknown): void {
		this.#dropped++;
		this.#services.failed(cause);
	}
}

/** The address of metrics beside that of traces (OTLP/HTTP). `undefined`: the collector has an address of another form. */
function metricsUrl(traces: string): string | undefined {
	const url = new URL(traces);
	if (!url.pathname.endsWith("/v1/traces")) return undefined;
	url.pathname = url.pathname.replace(/traces$/, "metrics");
	return url.href;
}
