/** The progress of work in one line. */
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
	const failures = failed > 0 ? `, ${failed} failed` : "";
	const wait = waiting ? `; waits: ${waiting.message}` : "";
	return `${progressBar(done, total)} ${done} of ${total}${failures} (${status})${wait}`;
}

export function progressBar(done: number, total: number): string {
	const full = total === 0 ? 0 : Math.floor((done / total) * BAR_CHARACTERS);
	return `[${"#".repeat(full)}${".".repeat(BAR_CHARACTERS - full)}]`;
}

/** A terminal has one line that changes; elsewhere each change is a line. Returns the line. */
export function showLine(line: string, shown: string, isLast: boolean): string {
	const { isTTY } = process.stderr;
	if (line !== shown) process.stderr.write(isTTY ? `\r\u001b[K${line}` : `${line}\n`);
	if (isLast && isTTY) process.stderr.write("\n");
	return line;
}
