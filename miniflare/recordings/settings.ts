/** Reads the option `recordings` of a binding. */
import { resolve } from "node:path";
import * as z from "zod";
import type { Env } from "../../src/config/headers.ts";
import { Problems } from "../../src/config/problems.ts";
import type { RecordingOptions } from "../api.ts";
import type { RecordingMode } from "./recorder.ts";

export interface RecordingSettings {
	mode: RecordingMode;
	/** The complete path of the folder of the binding's files. */
	folder: string;
	/** The complete path of the project. */
	root: string;
	ignore: readonly string[];
	speed?: number | undefined;
}

const PLACE = "dev.options";
/** The environment variable that replaces the option `mode`, also in CI. */
const VARIABLE = "GANGLION_RECORDINGS";
const DEFAULT_FOLDER = "recordings";

const Mode = z.enum(["replay", "once", "record", "off"], {
	error: 'expected "replay", "once", "record" or "off"',
});

const Settings = z.strictObject({
	folder: z.string().min(1).default(DEFAULT_FOLDER),
	mode: Mode.default("once"),
	ignore: z
		.array(z.string().regex(/^[^.]+(?:\.[^.]+)*$/, { error: "expected a path such as messages.*.id" }))
		.default([]),
	speed: z.number().positive().max(1_000_000).optional(),
} satisfies Record<keyof RecordingOptions, z.ZodType>);

/**
 * `root`: relative folders are in it. `undefined`: the binding has no recordings.
 * Throws a `ConfigError`.
 */
export function readRecordingOption(
	option: unknown,
	{ binding, env, root }: { binding: string; env: Env; root: string },
): RecordingSettings | undefined {
	if (option === undefined) return undefined;
	const problems = new Problems();
	const fields = typeof option === "string" ? { folder: option } : option;
	const settings = problems.parse(Settings, fields, [PLACE, "recordings"]);
	const named =
		env[VARIABLE] === undefined || env[VARIABLE] === ""
			? undefined
			: problems.parse(Mode, env[VARIABLE], [VARIABLE]);
	problems.throwIfAny();
	if (!settings) return undefined;
	const { ignore, speed } = settings;
	const mode = named ?? inCi(settings.mode, env);
	if (mode === "off") return undefined;
	const folder = resolve(root, settings.folder, binding);
	return { mode, folder, root, ignore, speed };
}

/** A build must not change the files that it checks. */
const inCi = (mode: z.infer<typeof Mode>, { CI }: Env): z.infer<typeof Mode> =>
	mode !== "off" && CI !== undefined && CI !== "" && CI !== "false" ? "replay" : mode;
