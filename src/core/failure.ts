/** One kind of failure. `failures.ts` has all of them. */

export interface Failure {
	/** The product's internal code. */
	code: number;
	status:
		| 400
		| 401
		| 402
		| 403
		| 404
		| 405
		| 408
		| 409
		| 410
		| 413
		| 422
		| 424
		| 426
		| 429
		| 500
		| 502
		| 503
		| 504
		| 508;
	/** First segment of the REST message: `AiError: {name}: {description}`. */
	name: string;
	/** The default description. */
	description: string;
	/** Whether another target may succeed with the same input. */
	retryable: boolean;
	/**
	 * `edge`: before inference (authentication, routing), with another envelope and without a request id. `gateway`: failures of
	 * AI Gateway, with a format of their own (surfaces/gateway).
	 */
	plane: "inference" | "edge" | "gateway";
	/** An engine or a provider may have received the request and worked on it, or the caller left. Otherwise the gateway refused it by itself. */
	isAfterCall?: true;
}

export const inference = (
	code: number,
	status: Failure["status"],
	name: string,
	description: string,
	retryable = false,
): Failure => ({ code, status, name, description, retryable, plane: "inference" });

export const edge = (code: number, status: Failure["status"], description: string): Failure => ({
	code,
	status,
	name: "",
	description,
	retryable: false,
	plane: "edge",
});

export const gateway = (code: number, status: Failure["status"], description: string): Failure => ({
	code,
	status,
	name: "AiGatewayError",
	description,
	retryable: false,
	plane: "gateway",
});

export const afterCall = (failure: Failure): Failure => ({ ...failure, isAfterCall: true });
