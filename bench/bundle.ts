/** How large the built Worker is: all that is uploaded, and what of it every request needs. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { modulesIn } from "../miniflare/modules.ts";
import { BUILT } from "./contenders.ts";
import { exactly } from "./statistics.ts";
import type { Row } from "./table.ts";

type Modules = ReturnType<typeof modulesIn>;

const STATIC_IMPORT = /(?:\bfrom|\bimport)\s*"\.\/([^"]+)"/g;

/** What a runtime evaluates before the first request: the main module, what that imports, what these import. */
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

/** In one piece, as wrangler tells of an upload. */
function sizes(modules: Modules): { kilobytes: number; zipped: number } {
	const bytes = Buffer.concat(modules.map(({ file }) => readFileSync(file)));
	return { kilobytes: bytes.length / 1024, zipped: gzipSync(bytes, { level: 9 }).length / 1024 };
}

const note = (modules: Modules): string =>
	`${modules.length} modules, ${Math.round(sizes(modules).kilobytes)} KB as they are`;

export function bundleSize(): Row[] {
	const all = modulesIn(BUILT);
	const start = loadedAtStart(BUILT);
	return [
		{
			what: "bundle, gzip, all that is uploaded",
			measured: exactly(sizes(all).zipped),
			unit: "KB",
			bar: 300,
			stretch: 150,
			note: note(all),
		},
		{
			what: "of it loaded before the first chat is answered",
			measured: exactly(sizes(start).zipped),
			unit: "KB",
			note: note(start),
		},
	];
}
