/** How lines are claimed, started and stored. */
import { describe, expect, it } from "vitest";
import { Drain } from "../../../src/jobs/batches/drain.ts";
import type { BatchRecord, ClaimedLine, LineEnd } from "../../../src/jobs/batches/records.ts";
import { PostponedWork } from "../../../src/storage/queue/work.ts";

interface Scenario {
	lines: number;
	concurrency: number;
	/** Of the answer of a line. */
	milliseconds: (line: number) => number;
	/** Of a result. */
	characters?: number;
	/** Milliseconds of a call that stores and claims. */
	exchangeMs?: number;
	/** Milliseconds after which the batch is cancelled. */
	cancelAfter?: number;
	/** Calls after which other batches use the whole pace. */
	othersAfter?: number;
	/** The call from which on other batches use nothing again. */
	othersUntil?: number;
	/** Live requests are under way. */
	isLive?: boolean;
	/** Runs of each line that fail. It runs again two seconds later. */
	failures?: number;
	/** Milliseconds after which the clock is set back by an hour. */
	setBackAfter?: number;
}

const MOST_CALLS = 2_000;

/** Time that passes only when nothing else is left to do, so that a busy machine changes no result. */
function steppedTime() {
	let time = 0;
	const timers: { at: number; ring: () => void }[] = [];
	return {
		now: () => time,
		sleep: (milliseconds: number) =>
			new Promise<void>((ring) => void timers.push({ at: time + milliseconds, ring })),
		/** Lets time pass until the work has ended. */
		async endOf(work: Promise<void>): Promise<void> {
			let hasEnded = false;
			const end = () => {
				hasEnded = true;
			};
			work.then(end, end);
			for (;;) {
				await new Promise((resolve) => setTimeout(resolve, 0));
				if (hasEnded) return work;
				timers.sort((a, b) => a.at - b.at);
				const timer = timers.shift();
				if (!timer) throw new Error("The drain waits for nothing");
				time = timer.at;
				timer.ring();
			}
		},
	};
}

/** Drains a batch. `now()`: milliseconds since its start. */
function drained({
	lines,
	concurrency,
	milliseconds,
	characters = 1,
	exchangeMs = 0,
	cancelAfter,
	othersAfter = Number.POSITIVE_INFINITY,
	othersUntil = Number.POSITIVE_INFINITY,
	isLive = false,
	failures = 0,
	setBackAfter = Number.POSITIVE_INFINITY,
}: Scenario) {
	const { endOf, now, sleep } = steppedTime();
	const queued = Array.from({ length: lines }, (_, line) => ({ line, ticket: `t-${line}`, startAt: 0 }));
	const runs = new Map<number, number>();
	const seen = {
		running: 0,
		/** By line: when it ended, and when the call that stored it began. */
		ended: new Map<number, number>(),
		stored: new Map<number, number>(),
		/** The most results that waited to be stored. */
		waited: 0,
		/** The most lines that were claimed, and had not started. */
		claimed: 0,
		started: 0,
		startedDuringCalls: 0,
		isCalling: false,
		calls: 0,
		/** Calls that store ends and claim lines. */
		mixedCalls: 0,
		pauses: 0,
	};
	let claimed = 0;
	const drain = new Drain(
		{
			record: { model: "gpt-5.6-sol", expiresAt: 1e15 } as BatchRecord,
			signal: new AbortController().signal,
		},
		{
			services: {
				jobPace: {
					free: () => (seen.calls > othersAfter && seen.calls < othersUntil ? 0 : concurrency - seen.running),
					groupLines: 32,
					isLive,
					giveWay: async () => void seen.pauses++,
					pause: () => 0,
					retryDelay: () => 1_000,
				} as never,
				jobSettings: {} as never,
				now: () => (now() < setBackAfter ? now() : now() - 3_600_000),
				wait: sleep,
			},
			reader: { body: async () => ({}), load: async () => {} } as never,
			async runLine({ line, ticket }) {
				seen.running++;
				seen.started++;
				if (seen.isCalling) seen.startedDuringCalls++;
				await sleep(milliseconds(line));
				seen.running--;
				seen.ended.set(line, now());
				seen.waited = Math.max(seen.waited, seen.ended.size - seen.stored.size);
				const run = (runs.get(line) ?? 0) + 1;
				runs.set(line, run);
				const outcome =
					run <= failures
						? { kind: "again", startAt: now() + 2_000, counts: true }
						: { kind: "succeeded", text: "a".repeat(characters) };
				return { end: { line, ticket, settlements: [], outcome } as unknown as LineEnd };
			},
			async exchange(results, claim) {
				expect(seen.isCalling).toBe(false);
				seen.isCalling = true;
				if (++seen.calls > MOST_CALLS) throw new Error("The drain calls without an end");
				if (results.length > 0 && claim > 0) seen.mixedCalls++;
				const isStopping = cancelAfter !== undefined && now() >= cancelAfter;
				for (const { line, outcome } of results)
					if (outcome.kind === "again") {
						claimed--;
						queued.push({ line, ticket: `t-${line}`, startAt: outcome.startAt });
					} else seen.stored.set(line, now());
				const due = queued.filter(({ startAt }) => startAt <= now()).slice(0, claim);
				const taken = isStopping ? [] : (due as unknown as ClaimedLine[]);
				for (const line of isStopping ? [] : due) queued.splice(queued.indexOf(line), 1);
				claimed += taken.length;
				const nextAt = Math.min(...queued.map(({ startAt }) => startAt));
				await sleep(exchangeMs);
				seen.claimed = Math.max(seen.claimed, claimed - seen.started);
				seen.isCalling = false;
				const isEmpty = claim > 0 && taken.length === 0 && Number.isFinite(nextAt);
				return { lines: taken, isStopping, ...(isEmpty && { nextAt }) };
			},
		},
	);
	return { run: () => endOf(drain.run()), seen, now };
}

describe("a drain", () => {
	it("stores the ends of fast lines in groups", async () => {
		const { run, seen } = drained({ lines: 100, concurrency: 16, milliseconds: () => 5 });
		await run();
		expect(seen.stored.size).toBe(100);
		expect(seen.calls).toBeLessThan(15);
	});

	it("stores ends and claims lines in one call, but beside live requests in two, each after a pause", async () => {
		const lines = { lines: 200, concurrency: 4, milliseconds: () => 2 };
		const alone = drained(lines);
		await alone.run();
		expect(alone.seen.mixedCalls).toBeGreaterThan(3);
		const beside = drained({ ...lines, isLive: true });
		await beside.run();
		expect(beside.seen.stored.size).toBe(200);
		expect(beside.seen.mixedCalls).toBe(0);
		expect(beside.seen.pauses).toBeGreaterThanOrEqual(beside.seen.calls);
		expect(beside.seen.calls).toBeLessThan(2 * alone.seen.calls + 10);
	});

	it("stores large results before a group of lines has ended", async () => {
		const { run, seen } = drained({
			...{ lines: 20, concurrency: 2, milliseconds: () => 1, characters: 2_500_000 },
		});
		await run();
		expect(seen.stored.size).toBe(20);
		expect(seen.waited).toBeLessThanOrEqual(4);
	});

	it("starts lines while it stores others, and claims the next ones before", async () => {
		const { run, seen } = drained({ lines: 200, concurrency: 4, milliseconds: () => 5, exchangeMs: 30 });
		await run();
		expect(seen.stored.size).toBe(200);
		expect(seen.startedDuringCalls).toBeGreaterThan(50);
		expect(seen.claimed).toBeGreaterThan(16);
		expect(seen.claimed).toBeLessThanOrEqual(64);
	});

	it("stores an end within about a second, although other lines take longer", async () => {
		const { run, seen } = drained({ lines: 10, concurrency: 4, milliseconds: (line) => 300 + 70 * line });
		await run();
		expect(seen.stored.size).toBe(10);
		for (const [line, at] of seen.ended) expect((seen.stored.get(line) ?? 0) - at).toBeLessThan(1_300);
	});

	it("stops within about a second after the batch was cancelled, when the lines that run have ended", async () => {
		const { run, seen, now } = drained({
			...{ lines: 200, concurrency: 4, milliseconds: (line) => 380 + (line % 5) * 10, cancelAfter: 1_500 },
		});
		await run();
		expect(now()).toBeLessThan(1_500 + 1_000 + 500);
		expect(seen.running).toBe(0);
		expect(seen.stored.size).toBe(seen.started);
		expect(seen.started).toBeLessThan(40);
	});

	it("is postponed, with no line that stays claimed, if others use all places", async () => {
		const { run, seen } = drained({ lines: 4, concurrency: 0, milliseconds: () => 1 });
		await expect(run()).rejects.toBeInstanceOf(PostponedWork);
		expect(seen.claimed).toBeLessThanOrEqual(0);
	});

	it.each([true, false])(
		"is postponed until its last lines run again (beside live requests: %s)",
		async (isLive) => {
			const { run, seen } = drained({
				lines: 3,
				concurrency: 4,
				milliseconds: () => 50,
				isLive,
				failures: 1,
			});
			const postponed = await run().then(
				() => undefined,
				(thrown: unknown) => thrown,
			);
			expect(seen.started).toBe(3);
			expect(postponed).toBeInstanceOf(PostponedWork);
			expect((postponed as PostponedWork).milliseconds).toBeGreaterThan(1_000);
			expect((postponed as PostponedWork).milliseconds).toBeLessThanOrEqual(2_000);
		},
	);

	it.each([true, false])("does not end while a line waits (beside live requests: %s)", async (isLive) => {
		let ends = 0;
		for (const lines of [3, 40])
			for (const concurrency of [1, 4])
				for (const failures of [0, 1])
					for (let othersAfter = 0; othersAfter < 12; othersAfter++)
						for (const calls of [1, 2]) {
							const { run, seen } = drained({
								...{ lines, concurrency, isLive, failures, othersAfter, othersUntil: othersAfter + calls },
								milliseconds: (line) => 20 + 90 * (line % 3),
							});
							const thrown: unknown = await run().then(
								() => undefined,
								(error: unknown) => error,
							);
							if (thrown !== undefined) expect(thrown).toBeInstanceOf(PostponedWork);
							else expect(seen.stored.size).toBe(lines);
							if (thrown === undefined) ends++;
						}
		expect(ends).toBeGreaterThan(10);
	});

	it("ends its shift if the clock is set back: its five minutes would last an hour longer", async () => {
		const { run, seen } = drained({
			...{ lines: 400, concurrency: 4, milliseconds: () => 10_000, setBackAfter: 60_000 },
		});
		await expect(run()).rejects.toBeInstanceOf(PostponedWork);
		expect(seen.stored.size).toBe(seen.started);
		expect(seen.started).toBeLessThanOrEqual(7 * 4);
	});

	it("gives lines back once, and waits, when other batches use the whole pace", async () => {
		const { run, seen } = drained({ lines: 100, concurrency: 4, milliseconds: () => 1, othersAfter: 0 });
		await expect(run()).rejects.toThrow(PostponedWork);
		expect(seen.calls).toBeLessThanOrEqual(2);
		const begun = drained({ lines: 100, concurrency: 4, milliseconds: () => 1, othersAfter: 1 });
		await expect(begun.run()).rejects.toThrow(PostponedWork);
		expect(begun.seen.calls).toBeLessThanOrEqual(6);
	});
});
