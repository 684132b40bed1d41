import { PostponedWork } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import type { AppServices } from "../../../src/surfaces/services.ts";

/** Runs the latest item once, each time as another run. Returns the milliseconds for which it is postponed. */
export function runsOf(queued: readonly { account: string; key: string }[], services: AppServices) {
	let fence = 0;
	return async (signal = new AbortController().signal): Promise<number | undefined> => {
		const { account = "", key = "" } = queued.at(-1) ?? {};
		try {
			await batchWork(services).run({
				...{ account, key, kind: "batches", payload: undefined },
				...{ attempt: 1, fence: ++fence, signal, progress: () => {} },
			});
			return undefined;
		} catch (thrown) {
			if (thrown instanceof PostponedWork) return thrown.milliseconds;
			throw thrown;
		}
	};
}
