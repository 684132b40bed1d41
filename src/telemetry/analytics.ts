/**
 * One request as a point of Workers Analytics Engine
 * (developers.cloudflare.com/analytics/analytics-engine). Places are all that its SQL knows, so they never change: a
 * new field goes to the end.
 *
 * | index1 | blob1 | blob2 | blob3 | blob4 | blob5 | blob6 | blob7 |
 * |---|---|---|---|---|---|---|---|
 * | account | model | task | backend | outcome | credential | counts | request id |
 *
 * | double1 | double2 | double3 | double4 | double5 | double6 | double7 | double8 |
 * |---|---|---|---|---|---|---|---|
 * | neurons | input tokens | cached tokens | output tokens | latency ms | first token ms | attempts | code |
 *
 * A double that does not apply is 0. Analytics Engine samples: bills are read from the ledger, never from here.
 */
import { type Admission, MICRO_NEURONS, type Settlement } from "../accounts/admission.ts";

/** Pure. */
export const dataPoint = (
	settlement: Settlement,
	{ credential, model, task }: Pick<Admission, "credential" | "model" | "task">,
	account: string,
): AnalyticsEngineDataPoint => ({
	indexes: [account],
	blobs: [
		model,
		task,
		settlement.backend,
		settlement.outcome,
		credential.kind,
		settlement.estimated ? "estimated" : "reported",
		settlement.ticket,
	],
	doubles: [
		settlement.microNeurons / MICRO_NEURONS,
		settlement.inputTokens,
		settlement.cachedTokens,
		settlement.outputTokens,
		settlement.latencyMs,
		settlement.firstTokenMs ?? 0,
		settlement.attempts,
		settlement.code ?? 0,
	],
});
