/** The settings of a Worker that runs without wrangler. */
import { join } from "node:path";
import * as z from "zod";
import { type Config, ConfigError, configure } from "../src/config/index.ts";
import { warningsOf } from "../src/config/warnings.ts";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { noSuchSetting } from "./command-names.ts";
import { parseConfigFile, type Variables } from "./config-file.ts";
import { misspelledInEnvironment } from "./environment-names.ts";
import { ROOT } from "./root.ts";
import { settingNames } from "./setting-names.ts";
import { BadArgument, stopWith } from "./stop-with.ts";
import type { WorkerSpec } from "./workerd.ts";

/** Flags that are defaults of the runtime from a date on. If they are set, the runtime warns at each start. */
const DEFAULT_SINCE: Readonly<Record<string, string>> = { nodejs_compat: "2026-08-04" };

/**
 * Options of V8 for a gateway that serves. The guard tells the Worker when to collect garbage. With more space for new objects a process is
 * larger; with less, the requests of many accounts cost more. V8 collects when its heap has grown by a fifth and by that space: by default it
 * waits longer, because it does not count the 15 KB that the runtime holds for each request until then (tools/bench/NOTES.md).
 */
export const V8_FLAGS = ["--expose-gc", "--max-semi-space-size=16", "--heap-growing-percent=20"];

export const PROJECT_CONFIG = join(ROOT, "wrangler.jsonc");

type RuntimeSettings = Pick<WorkerSpec, "assets" | "compatibilityDate" | "compatibilityFlags" | "objects">;

const ProjectConfig = z.object({
	assets: z.object({ binding: z.string(), directory: z.string() }),
	compatibility_date: z.string(),
	compatibility_flags: z.array(z.string()),
	durable_objects: z.object({
		bindings: z.array(z.object({ name: z.string(), class_name: z.string() })),
	}),
});
type ProjectConfig = z.output<typeof ProjectConfig>;

/** Set by the build of the package, which does not contain the project's file. */
declare const PROJECT_SETTINGS: ProjectConfig | undefined;

/** The runtime's settings in the project's file. `file`: that of another checkout. */
export const projectSettings = (file = PROJECT_CONFIG): ProjectConfig =>
	typeof PROJECT_SETTINGS === "undefined" ? ProjectConfig.parse(parseConfigFile(file)) : PROJECT_SETTINGS;

/**
 * The runtime's settings of the Worker, except modules and variables. They come from the project's own file, even with `--config`, because the date,
 * the flags, the objects and the assets belong to the code.
 */
export function runtimeSettings(project = projectSettings()): RuntimeSettings {
	const { assets, compatibility_date, compatibility_flags, durable_objects } = project;
	return {
		assets: { binding: assets.binding, folder: join(ROOT, assets.directory) },
		compatibilityDate: compatibility_date,
		compatibilityFlags: compatibility_flags.filter((flag) => !isDefault(flag, compatibility_date)),
		objects: durable_objects.bindings,
	};
}

function isDefault(flag: string, date: string): boolean {
	const since = DEFAULT_SINCE[flag];
	return since !== undefined && date >= since;
}

/** Valid settings that may be mistakes, for the start message. Empty if there are none. `environment`: if settings are read from it. */
export function warnings(
	config: Parameters<typeof warningsOf>[0],
	variables: object,
	environment: Readonly<Record<string, unknown>> = {},
): string {
	const lines = [...misspelled(variables, environment), ...warningsOf(config)].map((line) => `    ${line}\n`);
	return lines.length > 0 ? `\n  Warnings\n${lines.join("")}` : "";
}

/** As `configure`. The error also lists misspelled names of settings, because they are often the cause of its mistakes. */
export function configureNaming(
	variables: object,
	environment: Readonly<Record<string, unknown>> = {},
): Config {
	try {
		return configure(variables);
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		throw new ConfigError(error.problems, misspelled(variables, environment));
	}
}

/** Names that no setting reads, and that resemble one. The variables have the names of secrets too, which may be any. */
function misspelled(variables: object, environment: Readonly<Record<string, unknown>>): string[] {
	const settings = settingNames();
	const own = Object.keys(variables).flatMap((name) => {
		const guess = settings.has(name) ? "" : didYouMean(name, [...settings]);
		return guess ? [noSuchSetting(name, guess)] : [];
	});
	return [...own, ...misspelledInEnvironment(environment, new Set(Object.keys(variables)))];
}

/** Stops the command for a mistake in the configuration or in its arguments, before anything starts. */
export function orStop<T>(work: () => T): T {
	try {
		return work();
	} catch (error) {
		if (error instanceof ConfigError || error instanceof BadArgument) return stopWith(error.message);
		throw error;
	}
}

/** For variables that the configuration reads, the environment has precedence. */
export function fromEnvironment({ vars, secrets }: Variables): Pick<Variables, "vars" | "secrets"> {
	const found: Record<string, string> = {};
	const configured: Record<string, unknown> = { ...vars, ...secrets };
	const recording = new Proxy(configured, {
		get(target, name) {
			const value = typeof name === "string" ? process.env[name] : undefined;
			if (value === undefined || typeof name !== "string") return Reflect.get(target, name);
			found[name] = value;
			// Its name is used.
			target[name] = value;
			return value;
		},
	});
	configureNaming(recording, process.env);
	const remaining = Object.entries(vars).filter(([name]) => !(name in found));
	return { vars: Object.fromEntries(remaining), secrets: { ...secrets, ...found } };
}
