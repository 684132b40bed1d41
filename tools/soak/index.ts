/**
 * `npm run soak`: tests the ledger under faults, disconnects and scenarios. Every request settles once, no budget is exceeded, and the ledger
 * agrees with the soak's own accounting of the engine. If a caller disconnects during a stream, the engine's call ends within 100 ms, and the
 * sent part is charged. With `--pauses` the gateway is also stopped for longer than its reservations are held, as on a machine that
 * sleeps: each request is still charged what it used. Each line of a batch is answered once and billed once. Each scenario (images,
 * audio, sessions, hedges, a full disk …) is charged by the records of its engine.
 *
 *     npm run soak -- --seed 7 --requests 10000 --kills 5 --tries 100 --only conservation
 */
import { readOptions } from "../../scripts/options.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { batchTable, runBatches } from "./batches/scenarios.ts";
import { conserve } from "./conservation.ts";
import { gatewaySummary } from "./gateways/report.ts";
import { conserveThroughGateways } from "./gateways/run.ts";
import type { Pattern } from "./hostile/attacker.ts";
import { PATTERNS } from "./hostile/patterns/index.ts";
import {
	figuresOf,
	type HostileFigures,
	hostileTable,
	invalidities,
	medianTable,
	missedBars,
} from "./hostile/report.ts";
import { attackGateway } from "./hostile/run.ts";
import { KNOWN_PATTERNS, sampled } from "./hostile/sample.ts";
import { CANCELLED_MS, leave, leavingTable } from "./leaving.ts";
import { play, scenarioTable } from "./play.ts";
import { progressTo } from "./progress.ts";
import { describeViolation, isClean, summary, violationDetails } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";

const values = readOptions(
	{
		seed: { type: "string" },
		requests: { type: "string", default: "10000" },
		workers: { type: "string", default: "1" },
		lines: { type: "string", default: "10000" },
		kills: { type: "string", default: "5" },
		pauses: { type: "string", default: "0" },
		callers: { type: "string", default: "64" },
		ledger: { type: "string", default: "both" },
		shards: { type: "string" },
		tight: { type: "string" },
		tries: { type: "string", default: "100" },
		only: { type: "string" },
		seconds: { type: "string" },
		attackers: { type: "string" },
		alone: { type: "boolean", default: false },
		pattern: { type: "string" },
		patterns: { type: "string", default: "64" },
		repeat: { type: "string", default: "1" },
	},
	`npm run soak -- [options]

  --seed N        the seed of an earlier run, to repeat it
  --requests N    number of requests (10000), with --callers N at the same time (64)
  --kills N       kills of the gateway during the run (5)
  --pauses N      conservation with pauses of the gateway's processes (SIGSTOP, SIGCONT), each longer than hold_ms: 26 seconds (0)
  --ledger MODE   exact, leased, or both (both)
  --shards N      conservation with N objects for all accounts, and leases of two minutes
  --tight N       with --shards: so many accounts with small budgets (40). With 8 or fewer, leases are valid for four seconds
  --tries N       disconnects for each API (100)
  --lines N       lines of the batches (10000)
  --only NAME     batches, conservation, gateways, leaving, hostile, scenarios, or one scenario: ${SCENARIOS.map(({ name }) => name).join(", ")}

  hostile (on Linux): strangers and tokens that only run models attack a gateway with 1,024 open files, beside 50 normal callers
  --seconds N     length of the attack (120), or of each pattern (5) with --alone
  --workers N     processes of the gateway that serve requests (1); more with --separate-large
  --attackers N   attackers of each pattern (3)
  --alone         one pattern after the other
  --patterns N    patterns at once (64), chosen by the seed, or all. Patterns of earlier findings are always among them
  --pattern TEXT  only patterns with this text in their name
  --repeat N      runs (1), with a table of the median and the worst. Each takes the next patterns: three of 64 take all`,
);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
/** Longer than any request of a run. */
const HOLD_MS = 20_000;
/** The ledger keeps the newest requests of an account (`src/accounts/durable/segments.ts`), and the audit reads them at the end. */
const KEPT_REQUESTS = 10_000;
const progress = progressTo(process.stderr);

const { only } = values;
const scenario = SCENARIOS.find(({ name }) => name === only)?.name;
if (
	only !== undefined &&
	!scenario &&
	!["batches", "conservation", "gateways", "hostile", "leaving", "scenarios"].includes(only)
)
	stopWith(`--only: found "${only}"`);

const patternCount = values.patterns === "all" ? PATTERNS.length : Number(values.patterns);
if (!(patternCount > KNOWN_PATTERNS.size))
	stopWith(`--patterns: expected more than ${KNOWN_PATTERNS.size}, or all, found "${values.patterns}"`);

/** Of a hostile run. `run`: from 0. */
function hostilePatterns(run: number): Pattern[] {
	const { alone, pattern } = values;
	if (pattern !== undefined) return PATTERNS.filter(({ name }) => name.includes(pattern));
	return sampled(PATTERNS, { count: alone ? PATTERNS.length : patternCount, seed, run });
}

if (!(Number(values.requests) <= KEPT_REQUESTS))
	stopWith(
		`--requests: expected at most ${KEPT_REQUESTS}, found "${values.requests}". The ledger keeps so many of an account, and the audit reads all.`,
	);
if (Number(values.pauses) > 0 && process.platform === "win32") stopWith("--pauses: Windows has no SIGSTOP");
if (!["exact", "leased", "both"].includes(values.ledger)) stopWith(`--ledger: found "${values.ledger}"`);
const ledgers = (["exact", "leased"] as const).filter((mode) => [mode, "both"].includes(values.ledger));
for (const ledger of only === undefined || only === "conservation" ? ledgers : []) {
	const run = await conserve({
		seed,
		requests: Number(values.requests),
		kills: Number(values.kills),
		pauses: Number(values.pauses),
		callers: Number(values.callers),
		holdMs: HOLD_MS,
		ledger,
		...(values.shards !== undefined && { shards: Number(values.shards) }),
		...(values.tight !== undefined && { tight: Number(values.tight) }),
		progress,
	});
	console.log(`\nledger: ${ledger}\n${summary(run)}`);
	if (!isClean(run)) {
		console.log(`\n${violationDetails(run)}`);
		process.exitCode = 1;
	}
}
if (only === undefined || only === "gateways") {
	const run = await conserveThroughGateways({
		seed,
		requests: Number(values.requests),
		kills: Number(values.kills),
		callers: Number(values.callers),
		holdMs: HOLD_MS,
		progress,
	});
	console.log(`\ngateways\n${gatewaySummary(run)}`);
	if (run.verdict.violations.length > 0) process.exitCode = 1;
}
if (only === undefined || only === "batches") {
	const figures = await runBatches(Number(values.lines), Number(values.kills), progress);
	console.log(`\nbatches\n${batchTable(figures)}`);
	for (const { name, problems } of figures)
		for (const problem of problems) {
			console.log(`VIOLATION: ${name}: ${problem}`);
			process.exitCode = 1;
		}
}
if (only === undefined || only === "hostile") {
	const seconds = Number(values.seconds ?? (values.alone ? 5 : 120));
	const figures: HostileFigures[] = [];
	const attacked = new Set<string>();
	for (let number = 0; number < Number(values.repeat); number++) {
		const patterns = hostilePatterns(number);
		for (const { name } of patterns) attacked.add(name);
		const run = await attackGateway({
			patterns,
			alone: values.alone,
			workers: Number(values.workers),
			milliseconds: seconds * 1_000,
			attackers: Number(values.attackers ?? (values.alone ? 10 : 3)),
			progress: (label) => process.stderr.write(`hostile: ${label}\n`),
		});
		console.log(`\nhostile\n${hostileTable(run)}`);
		for (const missed of missedBars(run)) console.log(`MISSED: ${missed}`);
		const invalid = invalidities(run);
		for (const reason of invalid) console.log(`NOT VALID: ${reason}`);
		if (missedBars(run).length + invalid.length > 0) process.exitCode = 1;
		if (invalid.length === 0) figures.push(figuresOf(run));
	}
	if (Number(values.repeat) > 1) console.log(`\n${medianTable(figures)}`);
	const others = PATTERNS.filter(({ name }) => !attacked.has(name)).map(({ name }) => name);
	console.log(`patterns that attacked: ${attacked.size} of ${PATTERNS.length}`);
	if (others.length > 0) console.log(`the others: ${others.join("; ")}`);
}
if (only === undefined || only === "leaving") {
	const tries = Number(values.tries);
	const { results, violations } = await leave(tries, (done) => progress(done, tries, "leaving"));
	console.log(`\n${leavingTable(results)}`);
	for (const violation of violations) console.log(`\n${describeViolation(violation)}`);
	const missed = results.filter(
		({ billed = tries, closedAfter }) =>
			billed !== tries || closedAfter.length !== tries || closedAfter.some((time) => time > CANCELLED_MS),
	);
	// The control without a gateway has no bill. Its delays are the runtime's.
	const ofGateway = missed.filter(({ billed }) => billed !== undefined);
	for (const { way } of ofGateway) console.log(`VIOLATION: ${way}: not ${tries} of ${tries}`);
	if (ofGateway.length > 0 || violations.length > 0) process.exitCode = 1;
}
if (only === undefined || only === "scenarios" || scenario) {
	const played = await play(scenario, (name) => process.stderr.write(`scenario ${name}\n`));
	console.log(`\n${scenarioTable(played)}`);
	for (const { name, problems } of played)
		for (const problem of problems) console.log(`VIOLATION: ${name}: ${problem}`);
	if (played.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}
