/** The services of the handlers: those of the pipeline, and those of the rooms above it. Types only. */
import type { GatewayCounters } from "../gateways/export/counters.ts";
import type { ResponsesServices } from "../responses/services.ts";
import type { FailureCounts } from "../telemetry/failure-counts.ts";
import type { RequestTimes } from "../telemetry/request-times.ts";

export interface AppServices extends ResponsesServices {
	/** What this process counts for `/metrics`. */
	requestTimes: RequestTimes;
	failureCounts: FailureCounts;
	gatewayCounters: GatewayCounters;
}
