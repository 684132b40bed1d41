/** The item of the durable queue that runs a response in the background. */
import type { WorkId } from "../storage/queue/work.ts";

/** The kind of the work (`src/work-handlers.ts`). */
const KIND = "responses";

export const backgroundItem = (account: string, response: string): WorkId => ({
	account,
	kind: KIND,
	key: response,
});
