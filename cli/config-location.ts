/** Where a command reads its settings. */
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { ConfigLocation } from "../scripts/config-file.ts";

/** Names of the configuration in a folder. A `wrangler.jsonc` may belong to another Worker, so it needs `--config`. */
const CONFIG_NAMES = ["ganglion.jsonc", "ganglion.json"];

export interface ConfigFlags {
	config?: string;
	env?: string;
}

/** Defaults of the project's own scripts, which npm runs in the project's folder. */
export interface Defaults {
	/** The folder in which the user typed the command. Default: the current one. */
	folder?: string;
	config?: string;
	state?: string;
}

const folderOf = ({ folder = process.cwd() }: Defaults): string => folder;

/** The configuration that is read without `--config`, for the help. */
export const shownConfig = ({ config }: Defaults): string =>
	config === undefined ? `${CONFIG_NAMES[0]} of this folder` : `${basename(config)} of the project`;

/** Reads a path of the command line. */
export const pathFrom =
	(defaults: Defaults) =>
	(path: string): string =>
		resolve(folderOf(defaults), path);

/** `watched`: the file whose changes reload the settings. It need not exist. */
export function locateConfig(
	{ config, env }: ConfigFlags,
	defaults: Defaults,
): ConfigLocation & { watched: string } {
	const folder = folderOf(defaults);
	const file =
		config === undefined
			? (defaults.config ?? CONFIG_NAMES.map((name) => join(folder, name)).find((name) => existsSync(name)))
			: pathFrom(defaults)(config);
	return { config: file, env, folder, watched: file ?? join(folder, CONFIG_NAMES[0] ?? "") };
}
