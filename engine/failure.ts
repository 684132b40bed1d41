/** A refusal that the caller sees: a status and `{"error": {message, code, type}}`, in the form of the local engine's other refusals. */
const STATUS = {
	/** The caller must change the request. */
	invalid_input: 400,
	model_missing: 404,
	/** The model has another task. */
	task_unsupported: 501,
	/** The memory is too small. */
	no_room: 507,
	/** The files cannot be loaded. */
	weights_unreadable: 500,
	/** A fault of the engine's own code (`fault.ts`): the model's files are not the cause. */
	internal: 500,
	/** The process of the model ended, or was ended because it was stuck. */
	engine_unavailable: 503,
	/** The caller has left. */
	cancelled: 499,
} as const;

/** A refusal of one item: the caller must change it. */
export class ItemRefusal extends Error {}

/** Their messages are JavaScript's, and name no cause. */
const ERRORS_OF_CODE = [TypeError, RangeError, ReferenceError];
export const isOfCode = (error: unknown): boolean => ERRORS_OF_CODE.some((kind) => error instanceof kind);

/** Why a model failed, for the caller and the log. In the code of the libraries, most errors of code are caused by files of another form. */
export function modelFailure(error: unknown): string {
	if (error instanceof SyntaxError) return "one of the files is no JSON";
	if (!(error instanceof Error) || isOfCode(error))
		return "the files, or the results, have another form than those of the task";
	return error.message;
}

export type FailureCode = keyof typeof STATUS;

export class EngineFailure extends Error {
	readonly code: FailureCode;

	constructor(code: FailureCode, message: string) {
		super(message);
		this.code = code;
	}

	get status(): number {
		return STATUS[this.code];
	}

	get body(): object {
		return { error: { message: this.message, code: this.code, type: "local_engine" } };
	}
}
