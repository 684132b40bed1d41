/** Creates the services of the pipeline and of the rooms from the configuration. A reload creates them again. */
import { connect } from "cloudflare:sockets";
import type { Config } from "./config/index.ts";
import { accountRouting } from "./config/provider-keys.ts";
import { pick } from "./core/present.ts";
import type { Background } from "./http/background.ts";
import { adapterFinder } from "./jobs/client/account-adapters.ts";
import { Jobs, jobCalls } from "./jobs/client/jobs.ts";
import type { Persistent } from "./persistent-services.ts";
import { StoredResponses, storeCalls } from "./responses/client/stored-responses.ts";
import { createRetrieval } from "./retrieval/create-retrieval.ts";
import { createStorage } from "./storage/create-storage.ts";
import type { AppServices } from "./surfaces/services.ts";

export const servicesOf = (
	config: Config,
	{
		guardCounts: _,
		isOnlyProcess: __,
		jobStores,
		responseStores,
		retrievalObjects,
		storageBindings,
		...persistent
	}: Persistent,
): AppServices & { background: Background } => {
	const storage = createStorage(storageBindings, config.storage);
	const jobs = new Jobs({ object: (account) => jobCalls(jobStores, account), bounds: config.jobs.bounds });
	return {
		...persistent,
		...pick(config, "aliases", "catalog", "gatewayRules", "limits", "publicUrl"),
		...pick(config, "routing", "shadowRoutes", "webSearch"),
		accountRouting,
		storage,
		storedResponses: new StoredResponses({
			object: (account) => storeCalls(responseStores, account),
			bounds: config.storeBounds,
			now: persistent.now,
		}),
		...createRetrieval({ ...persistent, ...retrievalObjects, connect }, config),
		jobs,
		findAdapter: adapterFinder({ jobs, storage, engineFolders: persistent.engineFolders }),
		jobSettings: config.jobs.settings,
	};
};
