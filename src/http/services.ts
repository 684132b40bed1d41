/** The services of the handlers: those of the pipeline, and those of the rooms above it. Types only. */
import type { Services } from "../pipeline/services.ts";
import type { Storage } from "../storage/storage.ts";

export interface AppServices extends Services {
	/** What outlives a request. */
	storage: Storage;
}
