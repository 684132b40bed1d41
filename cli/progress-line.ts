/** The progress of a batch in one line. */
export const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);

/** Of OpenAI's API. */
interface BatchProgress {
	status: string;
	request_counts: { total: number; completed: number; failed: number };
	/** Why no line starts. */
	waiting?: { message: string } | undefined;
}

const BAR_CHARACTERS = 30;

export function batchLine({ status, request_counts, waiting }: BatchProgress): string {
	const { total, completed, failed } = request_counts;
	if (total === 0) return status;
	const done = completed + failed;
	const full = Math.floor((done / total) * BAR_CHARACTERS);
	const failures = failed > 0 ? `, ${failed} failed` : "";
	const wait = waiting ? `; waits: ${waiting.message}` : "";
	return `[${"#".repeat(full)}${".".repeat(BAR_CHARACTERS - full)}] ${done} of ${total}${failures} (${status})${wait}`;
}
