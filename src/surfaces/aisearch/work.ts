/** The handler of AI Search's items in the durable queue. */
import { searchHandler } from "../../retrieval/search/work.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import type { AppServices } from "../services.ts";
import { searchModels } from "./model-calls.ts";

export const searchWork = (services: AppServices): WorkHandler =>
	searchHandler({ services, models: (call) => searchModels(call, services) });
