/** What AI Search needs, in addition to the services of the rooms below. Types only. */
import type { AiError } from "../../core/errors.ts";
import type { Storage } from "../../storage/storage.ts";
import type { DocumentServices } from "../documents/convert.ts";
import type { VectorServices } from "../vectors/services.ts";
import type { SearchInstances } from "./client/search-instances.ts";

export interface SearchRoomServices extends DocumentServices, VectorServices {
	storage: Storage;
	/** Logs a failure for the operator, without any content. */
	log(error: AiError, requestId: string): void;
	searchInstances: SearchInstances;
	/** Calls websites. It refuses private addresses. Absent: `fetch`. */
	publicFetch?: typeof fetch;
}
