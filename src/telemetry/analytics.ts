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
 * A double that does not apply is 0. A call's values have at most 96 bytes for an index and 16 KB for all blobs together, or the
 * runtime throws a `TypeError`. Therefore an account and a model with longer names are cut. Analytics Engine samples: bills are read from
 * the ledger, never from here.
 */
import { type Admission, MICRO_NEURONS, type Settlement } from "../accounts/admission.ts";

/** Bytes of UTF-8. */
const MAX_INDEX = 96;
/** Bytes of UTF-8. All other blobs are short. */
const MAX_MODEL = 1_024;

const encoder = new TextEncoder();

/** Ends before a character that does not fit. */
function cut(text: string, maxBytes: number): string {
	// A character of UTF-16 has at most 3 bytes.
	if (text.length * 3 <= maxBytes) return text;
	return text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read);
}

/** Pure. */
export const dataPoint = (
	settlement: Settlement,
	{ credential, model, task }: Pick<Admission, "credential" | "model" | "task">,
	account: string,
): AnalyticsEngineDataPoint => ({
	indexes: [cut(account, MAX_INDEX)],
	blobs: [
		cut(model, MAX_MODEL),
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
