/**
 * A body that fails after its header: the runtime closes the connection, so that the caller sees that the body is incomplete. It also prints an
 * uncaught exception, except for an error that it takes for a lost connection. It recognizes one by this property (workerd, `jsg/value.h`).
 */

/** `failure`: of a body that the runtime reads. */
export const brokenOff = (failure: unknown): Error =>
	Object.assign(
		new Error(failure instanceof Error ? failure.message : "The body failed", { cause: failure }),
		{
			retryable: true,
		},
	);

/** The runtime prints nothing for it, because its connection to a server was lost. */
export const isLostConnection = (failure: unknown): boolean =>
	failure instanceof Error && "retryable" in failure && failure.retryable === true;
