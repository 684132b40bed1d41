/** Lists the modules of a built Worker. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The entry module. It imports the others by name. */
const MAIN = "index.js";

/** The entry module comes first, as runtimes require. */
export function modulesIn(folder: string): { name: string; file: string }[] {
	const others = readdirSync(folder).filter((name) => name.endsWith(".js") && name !== MAIN);
	return [MAIN, ...others.sort()].map((name) => ({ name, file: join(folder, name) }));
}
