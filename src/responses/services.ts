/** What the stored responses need, in addition to the pipeline's services. Types only. */
import type { Storage } from "../storage/storage.ts";
import type { SearchServices } from "../websearch/services.ts";
import type { StoredResponses } from "./client/stored-responses.ts";

export interface ResponsesServices extends SearchServices {
	/** What outlives a request. */
	storage: Storage;
	storedResponses: StoredResponses;
}
