/** What files and batches need, in addition to the services of the runs. Types only. */
import type { ResponsesServices } from "../responses/services.ts";
import type { EngineFolders } from "./adapters/engine-folders.ts";
import type { Pace } from "./batches/pace.ts";
import type { JobSettings } from "./batches/settings.ts";
import type { Jobs } from "./client/jobs.ts";

export interface JobsServices extends ResponsesServices {
	/** The files and batches of the accounts. */
	jobs: Jobs;
	engineFolders: EngineFolders;
	/** `JOBS` */
	jobSettings: JobSettings;
	/** Receives the events of batches: the binding `BATCH_EVENTS`. */
	batchEvents?: Pick<Queue, "send">;
	/** How many lines run at the same time in this process. */
	jobPace: Pace;
}
