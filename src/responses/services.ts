/** What the stored responses need, in addition to the pipeline's services. Types only. */
import type { Services } from "../pipeline/services.ts";
import type { Storage } from "../storage/storage.ts";
import type { StoredResponses } from "./client/stored-responses.ts";

export interface ResponsesServices extends Services {
	/** What outlives a request. */
	storage: Storage;
	storedResponses: StoredResponses;
}
