/** Lists the modules of a built Worker. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The entry module. It imports the others by name. */
const MAIN = "index.js";

/** The beginning of each module of a build without some parts. Their names follow, separated by commas. */
export const REDUCED_BUILD = "// Ganglion without ";

/** The entry module comes first, as runtimes require. The others are JavaScript and WebAssembly. */
export function modulesIn(folder: string): { name: string; file: string }[] {
	const others = readdirSync(folder).filter((name) => /\.(?:js|wasm)$/.test(name) && name !== MAIN);
	return [MAIN, ...others.sort()].map((name) => ({ name, file: join(folder, name) }));
}

/** Whether a module is WebAssembly, by its name. */
export const isWasm = (name: string): boolean => name.endsWith(".wasm");

/** As {@link modulesIn}. Throws if the build has not all parts: only a deployment on Cloudflare leaves some out. */
export function completeModulesIn(folder: string): { name: string; file: string }[] {
	const [opening = ""] = readFileSync(join(folder, MAIN), "utf8").split("\n", 1);
	if (opening.startsWith(REDUCED_BUILD)) {
		const parts = opening.slice(REDUCED_BUILD.length);
		throw new Error(
			`${folder} has a build for a deployment, without these parts: ${parts}. Build it again with "npm run build" in the folder of Ganglion`,
		);
	}
	return modulesIn(folder);
}
