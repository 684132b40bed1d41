/** `npm run serve`: `ganglion serve` from the sources, with the project's own configuration and state. */
import { mainOfNpmScript } from "../cli/main.ts";
import { PROJECT } from "../cli/project.ts";

await mainOfNpmScript("serve", PROJECT);
