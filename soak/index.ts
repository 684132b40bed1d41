/**
 * `npm run soak`: the ledger under faults. Every request settles once, no budget is passed, and the ledger says what the
 * engine served. Needs `npm run build`.
 *
 *     npm run soak -- --seed 7 --requests 10000 --kills 5
 */
import { parseArgs } from "node:util";
import { conserve } from "./conservation.ts";
import { progressTo } from "./progress.ts";
import { isClean, stories, summary } from "./report.ts";

const { values } = parseArgs({
	options: {
		seed: { type: "string" },
		requests: { type: "string", default: "10000" },
		kills: { type: "string", default: "5" },
		callers: { type: "string", default: "64" },
	},
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
const run = await conserve({
	seed,
	requests: Number(values.requests),
	kills: Number(values.kills),
	callers: Number(values.callers),
	holdMs: 20_000,
	progress: progressTo(process.stderr),
});
console.log(`\n${summary(run)}`);
if (!isClean(run)) {
	console.log(`\n${stories(run)}`);
	process.exitCode = 1;
}
