/** The handler of AI Search's items in the durable queue. */
import { searchHandler } from "../../retrieval/search/work.ts";
import { isDeletion } from "../../retrieval/search/work-items.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import type { AppServices } from "../services.ts";
import { searchModels } from "./model-calls.ts";

export function searchWork(services: AppServices): WorkHandler {
	const handler = searchHandler({ services, models: (call) => searchModels(call, services) });
	const run: WorkHandler["run"] = (run) =>
		// What belongs to a deleted instance is also deleted for an account that is deleted.
		isDeletion(run) ? services.deletedAccounts.exempt(() => handler.run(run)) : handler.run(run);
	return { ...handler, run };
}
