import { PostponedWork } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import type { AppServices } from "../../../src/surfaces/services.ts";

/** Each call runs the latest item once, as another run. It returns the milliseconds for which the item is postponed. */
export function batchRunner(queued: readonly { account: string; key: string }[], services: AppServices) {
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
