/** The size of the built Worker: everything that is uploaded, and the part that every request needs. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { modulesIn } from "../miniflare/modules.ts";
import { BUILT } from "./contenders.ts";
import { loadedAtStart, type Modules } from "./modules.ts";
import { exactly } from "./statistics.ts";
import type { Row } from "./table.ts";

/** The size of all modules together, as wrangler reports an upload. */
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
			label: "bundle, gzip, all that is uploaded",
			measured: exactly(sizes(all).zipped),
			unit: "KB",
			bar: 300,
			stretch: 150,
			note: note(all),
		},
		{
			label: "of it loaded before the first chat is answered",
			measured: exactly(sizes(start).zipped),
			unit: "KB",
			note: note(start),
		},
	];
}
