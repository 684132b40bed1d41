/** An error of the engine's own code. The gateway's log gets its place in the code, but not its message. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineFailure, isOfCode } from "./failure.ts";

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

/**
 * Logs a fault, and returns the failure that the caller sees. The gateway's log gets a line that begins like this one. `model`: the one that
 * was loaded or called.
 */
export function loggedFault({ name, frames }: Fault, model?: string): EngineFailure {
	console.error(`fault: ${[name, ...frames].join(" ")}`);
	const where = model === undefined ? "" : ` with ${model}`;
	return new EngineFailure(
		"internal",
		`The engine has failed${where}: the gateway's log names the place in the code`,
	);
}
