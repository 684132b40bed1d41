/** What authentication and the routes need, in addition to the pipeline's services. Types only. */
import type { DirectoryCache } from "../accounts/client/directory-cache.ts";
import type { AiError } from "../core/errors.ts";
import type { PipelineServices } from "../pipeline/services.ts";

export interface HttpServices extends PipelineServices {
	/** The accounts that exist. */
	directory: Pick<DirectoryCache, "find" | "list" | "lookUp" | "probe">;
	/** Logs a failure for the operator, without any content of the request. */
	log(error: AiError, requestId: string): void;
}
