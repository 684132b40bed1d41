/** Defaults of the project's own scripts. */
import { join } from "node:path";
import { ROOT } from "../scripts/root.ts";
import { PROJECT_CONFIG } from "../scripts/settings.ts";
import type { Defaults } from "./config-location.ts";

export const PROJECT: Defaults = { config: PROJECT_CONFIG, state: join(ROOT, ".ganglion") };
