/**
 * `npm run fuzz:documents -- --count 100000`: converts damaged copies of `test/fixtures/documents` in the processes that `ganglion serve`
 * uses. Prints how they end, and which are stopped at a bound. It fails if an answer is missing or a parser's error has no sentence.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { modulesIn } from "../../miniflare/modules.ts";
import { startConverter } from "../../scripts/documents/converter.ts";
import { readOptions } from "../../scripts/options.ts";
import { DIST, ROOT } from "../../scripts/root.ts";
import { remoteConverter } from "../../src/retrieval/documents/converter.ts";
import { mutated } from "./mutate.ts";

const FOLDER = join(ROOT, "test/fixtures/documents");
/** Conversions at the same time. */
const LANES = 2;
const PROGRESS = 1_000;
const KINDS = new Set([".docx", ".odt", ".ods", ".xlsx", ".xlsm", ".xlsb", ".xls", ".numbers", ".pdf"]);

const {
	count: countText = "1000",
	seed: seedText = "1",
	skip: skipText = "0",
} = readOptions(
	{ count: { type: "string" }, seed: { type: "string" }, skip: { type: "string" } },
	`npm run fuzz:documents -- [options]

  --count N  files to convert (1000)
  --seed N   of the first file (1)
  --skip N   files of a run with this seed that are left out before the first one (0)`,
);
const count = Number(countText);
const firstSeed = Number(seedText);
const skipped = Number(skipText);
const files = readdirSync(FOLDER)
	.filter((name) => KINDS.has(extname(name)))
	.map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FOLDER, name))) }));
const converter = await startConverter(async () => modulesIn(join(DIST, "documents")));
const convert = remoteConverter((request) => fetch(converter.address, request));

const endings = new Map<string, number>();
let stopped = 0;
let faults = 0;
let longestMs = 0;
let next = skipped;

async function lane(): Promise<void> {
	for (let index = next++; index < skipped + count; index = next++) {
		const file = files[index % files.length];
		if (!file) return;
		const seed = firstSeed + index;
		const startedAt = performance.now();
		const converted = await convert({ ...file, mimeType: "", bytes: mutated(file.bytes, seed) }, {}, "fuzz");
		longestMs = Math.max(longestMs, performance.now() - startedAt);
		const ending = converted.format === "error" ? converted.error : "converted";
		endings.set(ending, (endings.get(ending) ?? 0) + 1);
		const unexpected = converted.format === "error" ? converted.unexpected : undefined;
		// At once: the run may be ended before its last file.
		const shown = `${file.name}, seed ${seed}: ${ending}${unexpected ? `\n${unexpected}` : ""}`;
		if (/^The file takes too much (?:time|memory) to/.test(ending))
			console.log(`stopped ${++stopped}: ${shown}`);
		else if (unexpected !== undefined || /^The file (?:takes|could not)/.test(ending))
			console.log(`fault ${++faults}: ${shown}`);
		if ((index + 1) % PROGRESS === 0) console.log(`${index + 1} files, ${faults} faults`);
	}
}

await Promise.all(Array.from({ length: LANES }, lane));
await converter.stop();
for (const [ending, times] of [...endings].sort(([, one], [, other]) => other - one))
	console.log(`${String(times).padStart(8)}  ${ending}`);
console.log(
	`${count} files, ${stopped} stopped, ${faults} faults, the longest took ${Math.round(longestMs)} ms`,
);
process.exitCode = faults > 0 ? 1 : 0;
