import { expect, it } from "vitest";
import { Drain } from "../../../src/jobs/batches/drain.ts";
import type { BatchRecord, ClaimedLine, LineEnd } from "../../../src/jobs/batches/records.ts";

const LINES = 20;
const CONCURRENCY = 2;

/** Runs lines whose results have so many characters. Returns the most results that waited to be stored. */
async function drained(characters: number): Promise<{ stored: number; waited: number }> {
	const waiting = Array.from({ length: LINES }, (_, line) => ({ line, ticket: `t-${line}` }) as ClaimedLine);
	let running = 0;
	let ended = 0;
	let stored = 0;
	let waited = 0;
	const drain = new Drain(
		{
			record: { model: "gpt-5.6-sol", expiresAt: 1e15 } as BatchRecord,
			signal: new AbortController().signal,
		},
		{
			services: {
				jobPace: { free: () => CONCURRENCY - running, gap: () => 0, pause: () => 0 } as never,
				jobSettings: {} as never,
				now: () => 0,
				wait: async () => {},
			},
			reader: { body: async () => ({}), load: async () => {} } as never,
			async runLine({ line, ticket }) {
				running++;
				await new Promise((resolve) => setTimeout(resolve));
				running--;
				ended++;
				waited = Math.max(waited, ended - stored);
				const outcome = { kind: "succeeded", text: "a".repeat(characters) };
				return { end: { line, ticket, settlements: [], outcome } as unknown as LineEnd };
			},
			async exchange(results, claim) {
				stored += results.length;
				return { lines: waiting.splice(0, claim), isStopping: false };
			},
		},
	);
	await drain.run();
	return { stored, waited };
}

it("stores the ends of a group of lines together", async () => {
	const { stored, waited } = await drained(10);
	expect(stored).toBe(LINES);
	expect(waited).toBeGreaterThan(10);
});

it("stores large results before all lines of a group have ended", async () => {
	const { stored, waited } = await drained(2_500_000);
	expect(stored).toBe(LINES);
	expect(waited).toBeLessThanOrEqual(2 * CONCURRENCY);
});
