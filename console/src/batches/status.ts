/** What a batch does, for people. */
import type { BatchStatus } from "../api/types.ts";

/** Of a batch, or of a replay. */
interface State {
	status: BatchStatus;
	waiting?: object;
}

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

export const hasEnded = ({ status }: State): boolean => ENDED.has(status);

export const titleOf = ({ status, waiting }: State): string => (waiting ? "waiting" : TITLES[status]);

/** A variant of a badge. `completed` is no success if lines have failed. */
export function variantOf(status: BatchStatus, failed: number) {
	if (status === "failed") return "error";
	return status === "completed" && failed === 0 ? "success" : "secondary";
}
