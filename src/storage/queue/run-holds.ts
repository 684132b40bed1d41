/** What the runs of durable work in this process hold. Its only queue has started them. */
import { HoldOwner } from "../../core/process-counts.ts";

const running = new Set<HoldOwner>();

/** Releases all that `run` holds at its end. */
export async function withHolds<T>(run: () => Promise<T>): Promise<T> {
	const holds = new HoldOwner();
	running.add(holds);
	try {
		return await holds.run(run);
	} finally {
		holds.release();
		running.delete(holds);
	}
}

/** The queue's object starts: the runs of its instance before have ended with it, wherever they were. */
export function releaseRuns(): void {
	for (const holds of running) holds.release();
	running.clear();
}
