/**
 * The state of the engines and pools in each process of a gateway. `ganglion serve --workers N` runs the Worker in N processes. Each
 * answers with its own reports at a Unix socket, through the entrypoint `Reports`, so that any of them can answer `/metrics`.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { Metric, MetricSample } from "../../core/metric.ts";
import { resultWithin } from "../../core/with-timeout.ts";
import type { EngineReport } from "../../fleet/health.ts";
import type { PoolReport } from "../../pools/pool-report.ts";
import type { Peer, WorkerReport } from "../../telemetry/workers.ts";
import type { AppServices } from "../services.ts";
import { countMetrics, separatedMetrics } from "./count-metrics.ts";

/** A process that does not answer within this time is missing on the page. */
const PEER_MS = 2_000;
/** The socket's service reads only the body. */
const PEER_URL = "http://peer/";

type Reporting = Pick<
	AppServices,
	| "counts"
	| "separatedRequests"
	| "failureCounts"
	| "gatewayCounters"
	| "gatewayLogs"
	| "health"
	| "now"
	| "otelExporter"
	| "pools"
	| "requestTimes"
	| "routing"
	| "shadows"
>;

/** @param services those of the current configuration. */
export function reports(services: () => Reporting) {
	return class extends WorkerEntrypoint {
		override fetch(): Response {
			return Response.json(ownReport(services()));
		}
	};
}

/** Another process, through the binding of its socket. */
export const peerOf = (worker: string, socket: Pick<Fetcher, "fetch">): Peer => ({
	worker,
	async report() {
		const response = await socket.fetch(PEER_URL);
		return response.json<WorkerReport>();
	},
});

/** Pools outlive a reload of the configuration. Those of removed backends are left out. */
function ownReport(services: Reporting): WorkerReport {
	const { counts, failureCounts, gatewayCounters, gatewayLogs, health, now, otelExporter, pools } = services;
	const { requestTimes, routing, shadows } = services;
	const backends = new Set(routing.list().flatMap(({ targets }) => targets.map(({ backend }) => backend)));
	return {
		engines: health.engines?.() ?? [],
		pools: pools.reports(now()).filter(({ backend }) => backends.has(backend)),
		metrics: [
			...requestTimes.metrics(),
			...failureCounts.metrics(),
			...gatewayCounters.metrics(),
			...gatewayLogs.metrics(),
			...otelExporter.metrics(),
			...shadows.metrics(),
			...countMetrics(counts()),
			...separatedMetrics(services.separatedRequests()),
		],
	};
}

/** A report of one process. `worker`: its number. Absent if the gateway has one process. */
export type Labelled<T> = T & { worker?: string };

export interface WorkerReports {
	engines: readonly Labelled<EngineReport>[];
	pools: readonly Labelled<PoolReport>[];
	/** Each metric once, with the samples of all processes. */
	metrics: readonly Metric[];
	/** The processes. Empty if the gateway has one process. */
	workers: readonly { worker: string; up: boolean }[];
}

/** The reports of all processes of the gateway that answer. */
export async function allReports(
	services: Reporting & Pick<AppServices, "startTimer" | "workers">,
): Promise<WorkerReports> {
	const { workers } = services;
	const own = ownReport(services);
	if (!workers) return { ...own, workers: [] };
	const others = await Promise.all(
		workers.peers.map(async (peer) => ({ worker: peer.worker, report: await inTime(peer, services) })),
	);
	const all = [{ worker: workers.worker, report: own }, ...others];
	return {
		engines: all.flatMap(({ worker, report }) =>
			(report?.engines ?? []).map((engine) => ({ ...engine, worker })),
		),
		pools: all.flatMap(({ worker, report }) => (report?.pools ?? []).map((pool) => ({ ...pool, worker }))),
		metrics: merged(
			all.flatMap(({ worker, report }) =>
				(report?.metrics ?? []).map((metric) => ({ ...metric, samples: labelled(metric.samples, worker) })),
			),
		),
		workers: all.map(({ worker, report }) => ({ worker, up: report !== undefined })),
	};
}

const labelled = (samples: readonly MetricSample[], worker: string): MetricSample[] =>
	samples.map(([labels, ...sample]): MetricSample => [{ ...labels, worker }, ...sample]);

const merged = (metrics: readonly Metric[]): Metric[] =>
	[...Map.groupBy(metrics, ({ name }) => name).values()].flatMap((same) =>
		same.slice(0, 1).map((metric) => ({ ...metric, samples: same.flatMap(({ samples }) => samples) })),
	);

/**
 * The reports that the reader of one or more accounts may see: samples with an account that is listed, and for the operator also those
 * of all accounts. `accounts`: absent if every account is listed.
 */
export function visible(
	reports: WorkerReports,
	{ isOperator, accounts }: { isOperator: boolean; accounts?: readonly string[] | undefined },
): WorkerReports {
	const isVisible = ([{ account }]: MetricSample): boolean =>
		account === undefined ? isOperator : (accounts?.includes(account) ?? true);
	const metrics = reports.metrics.map((metric) => ({ ...metric, samples: metric.samples.filter(isVisible) }));
	return isOperator ? { ...reports, metrics } : { engines: [], pools: [], workers: [], metrics };
}

/** `undefined` if the process does not answer. */
const inTime = (
	peer: Peer,
	{ startTimer }: Pick<AppServices, "startTimer">,
): Promise<WorkerReport | undefined> => resultWithin(peer.report(), PEER_MS, { startTimer });
