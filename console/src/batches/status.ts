/** What a batch does, for people. */
import type { Batch, BatchStatus } from "../api/types.ts";

const TITLES: Readonly<Record<BatchStatus, string>> = {
	validating: "checking the file",
	failed: "failed",
	in_progress: "running",
	finalizing: "storing the results",
	completed: "completed",
	expired: "expired",
	cancelling: "cancelling",
	cancelled: "cancelled",
};

const ENDED: ReadonlySet<BatchStatus> = new Set(["failed", "completed", "expired", "cancelled"]);

export const hasEnded = ({ status }: Batch): boolean => ENDED.has(status);

export const titleOf = ({ status, waiting }: Batch): string => (waiting ? "waiting" : TITLES[status]);

/** A variant of a badge. `completed` is no success if lines have failed. */
export function variantOf({ request_counts: { failed }, status }: Batch) {
	if (status === "failed") return "error";
	return status === "completed" && failed === 0 ? "success" : "secondary";
}
