/** `npm run backup`: `ganglion backup` from the sources, with the project's own configuration and state. */
import { mainOfNpmScript } from "../cli/main.ts";
import { PROJECT } from "../cli/project.ts";

await mainOfNpmScript("backup", PROJECT);
