/** Defaults of the project's own scripts. npm keeps the folder of the user in the environment. */
import { join } from "node:path";
import { ROOT } from "../scripts/root.ts";
import { PROJECT_CONFIG } from "../scripts/settings.ts";
import type { Defaults } from "./config-location.ts";

export const PROJECT: Defaults = {
	...(process.env.INIT_CWD !== undefined && { folder: process.env.INIT_CWD }),
	config: PROJECT_CONFIG,
	state: join(ROOT, ".ganglion"),
};
