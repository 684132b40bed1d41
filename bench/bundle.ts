/** The size of the Worker as `wrangler deploy` builds it: everything that is uploaded, and the part that every request needs. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { modulesIn } from "../miniflare/modules.ts";
import { DIST } from "../scripts/root.ts";
import { bundleWorker } from "../scripts/worker.ts";
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

export async function bundleSize(): Promise<Row[]> {
	const built = mkdtempSync(join(DIST, ".bundle-"));
	try {
		await bundleWorker(built, { without: ["simulator"] });
		const all = modulesIn(built);
		const start = loadedAtStart(built);
		return [
			{
				label: "bundle of a deployment without the simulator, gzip, all that is uploaded",
				measured: exactly(sizes(all).zipped),
				unit: "KB",
				bar: 300,
				stretch: 255,
				note: note(all),
			},
			{
				label: "of it loaded before the first chat is answered",
				measured: exactly(sizes(start).zipped),
				unit: "KB",
				note: note(start),
			},
		];
	} finally {
		rmSync(built, { recursive: true });
	}
}
