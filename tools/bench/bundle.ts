/** The size of the Worker as `wrangler deploy` builds it: everything that is uploaded, and the part that every request needs. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { modulesIn } from "../../miniflare/modules.ts";
import { DIST } from "../../scripts/root.ts";
import { PROJECT_CONFIG } from "../../scripts/settings.ts";
import { unusedKinds } from "../../scripts/unused-kinds.ts";
import { bundleWorker, PART_NAMES, type Part } from "../../scripts/worker.ts";
import { isRetrieval, shareOf } from "./module-share.ts";
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

async function built(without: readonly Part[], measure: (folder: string) => Row[]): Promise<Row[]> {
	const folder = mkdtempSync(join(DIST, ".bundle-"));
	try {
		await bundleWorker(folder, { without });
		return measure(folder);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const row = (label: string, modules: Modules): Row => ({
	label,
	measured: exactly(sizes(modules).zipped),
	unit: "KB",
	note: note(modules),
});

/** What a deployment with the configuration of the project leaves out. */
export const leftOutByDefault = (): Part[] => ["simulator", ...unusedKinds(PROJECT_CONFIG)];

export async function bundleSize(): Promise<Row[]> {
	const usual = await built(leftOutByDefault(), (folder) => [
		{
			...row("bundle of a default deployment, gzip, all that is uploaded", modulesIn(folder)),
			bar: 300,
			stretch: 255,
		},
		row("of it loaded before the first chat is answered", loadedAtStart(folder)),
	]);
	const everyKind = await built(["simulator"], (folder) => [
		row("bundle with all kinds of backends, gzip, all that is uploaded", modulesIn(folder)),
	]);
	const smallest = await built(PART_NAMES, (folder) => [
		row("bundle without any part that can be left out, gzip, all that is uploaded", modulesIn(folder)),
		{
			label: "of it for documents, vectors and AI Search, all left out",
			measured: exactly(shareOf(modulesIn(folder), isRetrieval) / 1024),
			unit: "KB",
			bar: 5,
			stretch: 0,
		},
	]);
	return [...usual, ...everyKind, ...smallest];
}
