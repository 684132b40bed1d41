/** The error in an engine's reply, as far as it is read. */
export interface SentError {
	message?: string | undefined;
	code?: string | undefined;
	type?: string | undefined;
	/** The field of the request that the engine blames. */
	param?: string | undefined;
	/** The HTTP status in its fields. */
	status?: number | undefined;
	/** Seconds. */
	retryAfter?: number | undefined;
}
