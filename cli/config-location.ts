/** Where a command reads its settings. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ConfigLocation } from "../scripts/config-file.ts";

/** Names of the configuration in a folder. A `wrangler.jsonc` may belong to another Worker, so it needs `--config`. */
const CONFIG_NAMES = ["ganglion.jsonc", "ganglion.json"];

/** The folder in which the user typed the command. npm changes the folder, and keeps the old one in the environment. */
export const userFolder = (): string => process.env.INIT_CWD ?? process.cwd();

export const fromUserFolder = (path: string): string => resolve(userFolder(), path);

export interface ConfigFlags {
	config?: string;
	env?: string;
}

/** Defaults of the project's own scripts, which run in the project's folder. */
export interface Defaults {
	config?: string;
	state?: string;
}

/** `watched`: the file whose changes reload the settings. It need not exist. */
export function locateConfig(
	{ config, env }: ConfigFlags,
	defaults: Defaults,
): ConfigLocation & { watched: string } {
	const folder = userFolder();
	const file =
		config === undefined
			? (defaults.config ?? CONFIG_NAMES.map((name) => join(folder, name)).find((name) => existsSync(name)))
			: fromUserFolder(config);
	return { config: file, env, folder, watched: file ?? join(folder, CONFIG_NAMES[0] ?? "") };
}
