/** Batches in Anthropic's format. */
import { type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";

const instant = (milliseconds: number): string => new Date(milliseconds).toISOString();

const optional = (milliseconds: number | undefined): string | null =>
	milliseconds === undefined ? null : instant(milliseconds);

/** `batches`: the address of the batches, as the client called it. */
export function messageBatch(record: BatchRecord, batches: string) {
	const { id, createdAt, expiresAt, endedAt, cancellingAt, outputFile, waiting } = record;
	const isEnded = hasEnded(record);
	const running = cancellingAt === undefined ? "in_progress" : "canceling";
	return {
		id,
		type: "message_batch",
		processing_status: isEnded ? "ended" : running,
		request_counts: countsOf(record),
		created_at: instant(createdAt),
		expires_at: instant(expiresAt),
		ended_at: optional(endedAt),
		cancel_initiated_at: optional(cancellingAt),
		archived_at: null,
		results_url: isEnded && outputFile !== undefined ? `${batches}/${id}/results` : null,
		...(waiting && { waiting: { ...waiting, until: instant(waiting.until) } }),
	};
}

/** Until the batch has ended, all requests are in processing. */
function countsOf(record: BatchRecord) {
	const { total, succeeded, failed, unfinished, status } = record;
	if (!hasEnded(record)) return { processing: total, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
	const [canceled, expired] = status === "cancelled" ? [unfinished, 0] : [0, unfinished];
	return {
		processing: 0,
		succeeded,
		// A batch that the queue gave up has no results of the others.
		errored: status === "failed" ? total - succeeded : failed,
		canceled,
		expired,
	};
}
