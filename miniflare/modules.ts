/** The files of a built Worker. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The one that a runtime is started with. It imports the others by their names. */
const MAIN = "index.js";

/** The main one first, as runtimes take them. */
export function modulesIn(folder: string): { name: string; file: string }[] {
	const others = readdirSync(folder).filter((name) => name.endsWith(".js") && name !== MAIN);
	return [MAIN, ...others.sort()].map((name) => ({ name, file: join(folder, name) }));
}
