/**
 * A refusal that the caller sees: a status and `{"error": {message, code, type}}`, in the form of the local engine's other refusals.
 *
 * An error of the engine's own code is an internal error: the log has its place in the code, and the caller is not told to check the model.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

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
	/** A fault of the engine's own code. */
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
const isOfCode = (error: Error): boolean => ERRORS_OF_CODE.some((kind) => error instanceof kind);

/** Why a model failed, for the caller and the log. In the code of the libraries, most errors of code are caused by files of another form. */
export function modelFailure(error: unknown): string {
	if (error instanceof SyntaxError) return "one of the files is no JSON";
	if (!(error instanceof Error) || isOfCode(error))
		return "the files, or the results, have another form than those of the task";
	return error.message;
}

/** The place of an error in code, without its message. */
export interface Fault {
	name: string;
	frames: string[];
}

const MAX_FRAMES = 8;

/** `undefined`: the error is of a library, or of the model's files. */
export function ownFault(error: unknown): Fault | undefined {
	if (!(error instanceof Error && isOfCode(error))) return undefined;
	const fault = faultOf(error);
	const file = fault.frames.map(fileOf).find((path) => path !== undefined);
	return file !== undefined && dirname(file) === import.meta.dirname ? fault : undefined;
}

export function faultOf({ message, name, stack = "" }: Error): Fault {
	// Lines of the message may look like frames.
	const start = stack.indexOf(message);
	const lines = start < 0 ? [] : stack.slice(start + message.length).split("\n");
	const frames = lines.filter((line) => /^\s+at /.test(line)).map((line) => line.trim());
	return { name, frames: frames.slice(0, MAX_FRAMES) };
}

/** `undefined`: the frame is of the runtime. */
function fileOf(frame: string): string | undefined {
	const [, path] = /(?:at |\()(file:\/\/.+|\/.+|[A-Z]:\\.+?):\d+:\d+\)?$/i.exec(frame) ?? [];
	return path?.startsWith("file:") ? fileURLToPath(path) : path;
}

/** The gateway's log gets a line that begins like this. */
export function logFault({ name, frames }: Fault): void {
	console.error(`fault: ${[name, ...frames].join(" ")}`);
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
