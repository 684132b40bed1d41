/**
 * The entrypoint `Work`: each item runs in a request of its own, which the queue's object calls. So an item cannot harm the queue: the
 * runtime may end its request, and promises that it shares with other requests, such as those of single-flight, never continue in
 * the object. Calls of an item also do not wait for the commits of the object.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { WorkOutcome } from "./retry.ts";
import { withHolds } from "./run-holds.ts";
import { type RunControl, runWork, type WorkCalls } from "./run-work.ts";
import type { WorkHandler } from "./work.ts";
import type { WorkRow } from "./work-table.ts";

/** `handlerOf`: `undefined` if no room has registered the kind. */
export function workEntrypoint(handlerOf: (kind: string) => Promise<WorkHandler | undefined>) {
	return class extends WorkerEntrypoint implements WorkCalls {
		run(row: WorkRow, fence: number, control: RunControl): Promise<WorkOutcome> {
			return withHolds(() => runWork(row, { fence, control, handler: () => handlerOf(row.kind) }));
		}
	};
}
