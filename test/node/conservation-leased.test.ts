/** The short form of `npm run soak -- --ledger leased`: a Worker that admits requests from leases, killed once. */
import { expect, it } from "vitest";
import { conserve } from "../../tools/soak/conservation.ts";
import { isClean, summary, violationDetails } from "../../tools/soak/report.ts";

const SEED = 20261122;

it("settles every reported request once, exceeds no budget, and charges the leases of a killed Worker", async () => {
	console.log(`seed ${SEED}`);
	const run = await conserve({
		seed: SEED,
		requests: 400,
		kills: 1,
		callers: 32,
		holdMs: 8_000,
		ledger: "leased",
	});
	console.log(summary(run));
	expect(isClean(run), violationDetails(run)).toBe(true);
	const { tallies } = run.verdict;
	expect(tallies.reported.requests).toBeGreaterThan(0);
	expect(tallies.reported.engineTokens).toBe(tallies.reported.ledgerTokens);
	expect(tallies.counted.engineTokens).toBe(tallies.counted.ledgerTokens);
	expect(tallies.chargedLeases.requests).toBeGreaterThan(0);
});
