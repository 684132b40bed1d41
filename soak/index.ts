/**
 * `npm run soak`: the ledger under faults, callers who leave, and scenarios. Every request settles once, no budget is
 * passed, the ledger says what the engine served by the soak's own books; a caller who leaves amid a stream is noticed
 * within 100 ms and billed what passed; and each scenario (pictures, sound, sessions, hedges, a full disk …) is billed by
 * what its engine recorded.
 *
 *     npm run soak -- --seed 7 --requests 10000 --kills 5 --tries 100 --only conservation
 */
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import { conserve } from "./conservation.ts";
import { CANCELLED_MS, leave, leavingTable } from "./leaving.ts";
import { play, scenarioTable } from "./play.ts";
import { progressTo } from "./progress.ts";
import { isClean, stories, storyOf, summary } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";

const values = readOptions(
	{
		seed: { type: "string" },
		requests: { type: "string", default: "10000" },
		kills: { type: "string", default: "5" },
		callers: { type: "string", default: "64" },
		tries: { type: "string", default: "100" },
		only: { type: "string" },
	},
	`npm run soak -- [options]

  --seed N        of an earlier run, to play it again
  --requests N    to ask (10000), by --callers N at once (64)
  --kills N       of the gateway on the way (5)
  --tries N       to leave, of each dialect (100)
  --only NAME     conservation, leaving, scenarios, or one scenario: ${SCENARIOS.map(({ name }) => name).join(", ")}`,
);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
/** Above what any request of a run takes. */
const HOLD_MS = 20_000;
const progress = progressTo(process.stderr);

const { only } = values;
const scenario = SCENARIOS.find(({ name }) => name === only)?.name;
if (only !== undefined && !scenario && !["conservation", "leaving", "scenarios"].includes(only))
	stopWith(`--only: found "${only}"`);

if (only === undefined || only === "conservation") {
	const run = await conserve({
		seed,
		requests: Number(values.requests),
		kills: Number(values.kills),
		callers: Number(values.callers),
		holdMs: HOLD_MS,
		progress,
	});
	console.log(`\n${summary(run)}`);
	if (!isClean(run)) {
		console.log(`\n${stories(run)}`);
		process.exitCode = 1;
	}
}
if (only === undefined || only === "leaving") {
	const tries = Number(values.tries);
	const { departures, violations } = await leave(tries, (done) => progress(done, tries, "leaving"));
	console.log(`\n${leavingTable(departures)}`);
	for (const violation of violations) console.log(`\n${storyOf(violation)}`);
	const missed = departures.filter(
		({ billed = tries, closedAfter }) =>
			billed !== tries || closedAfter.length !== tries || closedAfter.some((time) => time > CANCELLED_MS),
	);
	// What the runtime by itself misses is not the gateway's to answer for.
	const own = missed.filter(({ billed }) => billed !== undefined);
	for (const { way } of own) console.log(`VIOLATION: ${way}: not ${tries} of ${tries}`);
	if (own.length > 0 || violations.length > 0) process.exitCode = 1;
}
if (only === undefined || only === "scenarios" || scenario) {
	const played = await play(scenario, (name) => process.stderr.write(`scenario ${name}\n`));
	console.log(`\n${scenarioTable(played)}`);
	for (const { name, problems } of played)
		for (const problem of problems) console.log(`VIOLATION: ${name}: ${problem}`);
	if (played.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}
