/** The processes of one gateway, and what each reports. Types only. */
import type { Metric } from "../core/metric.ts";
import type { EngineReport } from "../fleet/health.ts";
import type { PoolReport } from "../pools/pool-report.ts";

/** Processes that run the same Worker, with the same Durable Objects: `ganglion serve --workers`. */
export interface Workers {
	/** The number of this process, from "1". */
	worker: string;
	/** The other processes. */
	peers: readonly Peer[];
}

export interface Peer {
	worker: string;
	report(): Promise<WorkerReport>;
}

/** The state of one process. */
export interface WorkerReport {
	engines: EngineReport[];
	pools: PoolReport[];
	/** Its counters and histograms. */
	metrics: Metric[];
}
