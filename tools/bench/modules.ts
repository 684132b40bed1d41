/** Which modules of the built Worker are loaded at start-up. */
import { readFileSync } from "node:fs";
import { modulesIn } from "../../miniflare/modules.ts";

export type Modules = ReturnType<typeof modulesIn>;

const STATIC_IMPORT = /(?:\bfrom|\bimport)\s*"\.\/([^"]+)"/g;

/** The modules that a runtime evaluates before the first request: the main module and its static imports, transitively. */
export function loadedAtStart(folder: string): Modules {
	const all = modulesIn(folder);
	const loaded = new Set(all.slice(0, 1));
	for (const { file } of loaded)
		for (const [, imported] of readFileSync(file, "utf8").matchAll(STATIC_IMPORT)) {
			const module = all.find(({ name }) => name === imported);
			if (module) loaded.add(module);
		}
	return [...loaded];
}
