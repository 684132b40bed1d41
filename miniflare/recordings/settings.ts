/** Reads the option `recordings` of a binding. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import { isOn } from "../../scripts/engines/local.ts";
import type { Env } from "../../src/config/headers.ts";
import { Problems } from "../../src/config/problems.ts";
import type { RecordingOptions } from "../api.ts";
import { PLACE } from "../options.ts";
import type { RecordingMode } from "./mode.ts";

export interface RecordingSettings {
	mode: RecordingMode;
	/** The complete path of the folder of the binding's files. */
	folder: string;
	/** The complete paths of the project: as it is named, and without symbolic links. */
	roots: readonly string[];
	ignore: readonly string[];
	speed?: number | undefined;
}

/** The environment variable that replaces the option `mode`, also in CI. */
const VARIABLE = "GANGLION_RECORDINGS";
const DEFAULT_FOLDER = "recordings";

const Mode = z.enum(["replay", "strict", "once", "record", "prune", "off"]);

const PATH = /^[^.]+(?:\.[^.]+)*$/;
const PATH_EXPECTED = "expected a path such as messages.*.id";

/** The message about a call without a recording has `messages[0].id`. */
const withoutBrackets = (path: string): string => path.replace(/\[(\d+|\*)\]/g, ".$1");

const Settings = z.strictObject({
	folder: z.string().min(1).default(DEFAULT_FOLDER),
	mode: Mode.default("once"),
	ignore: z
		.array(
			z
				.string()
				.transform(withoutBrackets)
				.pipe(z.string().regex(PATH, { error: PATH_EXPECTED })),
		)
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
	const modeOfVariable =
		env[VARIABLE] === undefined || env[VARIABLE] === ""
			? undefined
			: problems.parse(Mode, env[VARIABLE], [VARIABLE]);
	problems.throwIfAny();
	if (!settings) return undefined;
	const { ignore, speed } = settings;
	const mode = modeOfVariable ?? inCi(settings.mode, env);
	if (mode === "off") return undefined;
	const folder = resolve(root, settings.folder, binding);
	return { mode, folder, roots: [root, realpathSync(root)], ignore, speed };
}

/** A build must not change the files that it checks. */
const inCi = (mode: z.infer<typeof Mode>, { CI }: Env): z.infer<typeof Mode> =>
	mode !== "off" && mode !== "strict" && typeof CI === "string" && isOn(CI) ? "replay" : mode;
