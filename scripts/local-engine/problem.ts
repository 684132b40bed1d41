/** A problem of the local engine that the user can solve. Its message is a complete sentence, which names the cure. */

export type ProblemCode =
	/** The files are not on this machine, and may not be downloaded now. */
	| "weights_missing"
	/** The licence of the files must be accepted first. */
	| "licence_not_accepted"
	/** A download runs. */
	| "weights_downloading"
	/** A download failed. */
	| "weights_unavailable"
	/** The disk or the memory is too small. */
	| "no_room"
	/** The model has another task. */
	| "task_unsupported"
	/** llama-server cannot read the file. */
	| "weights_unreadable"
	/** llama-server is missing, starts or has stopped. */
	| "engine_unavailable";

export class LocalProblem extends Error {
	readonly code: ProblemCode;
	/** Seconds after which a repetition may succeed. */
	readonly retryAfter: number | undefined;

	constructor(
		code: ProblemCode,
		message: string,
		{ retryAfter, cause }: { retryAfter?: number; cause?: unknown } = {},
	) {
		super(message, { cause });
		this.code = code;
		this.retryAfter = retryAfter;
	}
}
