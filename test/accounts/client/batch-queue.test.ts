import { describe, expect, it } from "vitest";
import type { Admission, Admitted } from "../../../src/accounts/admission.ts";
import { BatchQueue } from "../../../src/accounts/client/batch-queue.ts";
import { TestTimers } from "../../timers.ts";
import { admission } from "../fixtures.ts";

interface Call {
	tickets: string[];
	/** Admits these tickets, with as many output tokens as their place in the call; refuses the others. */
	answer(admitted: readonly string[]): Promise<void>;
	fail(error: unknown): Promise<void>;
}

/** A queue whose calls the test answers, and whose time the test sets. */
function queue() {
	let now = 1_000;
	const timers = new TestTimers(() => now);
	const alive = new Set<Promise<unknown>>();
	const calls: Call[] = [];
	const admissions = new BatchQueue<Admission, Admitted>({
		now: () => now,
		wait: timers.wait,
		waitUntil: (promise) => {
			alive.add(promise);
			promise.finally(() => alive.delete(promise));
		},
	});
	const admitAll = (batch: readonly Admission[]): Promise<Admitted[]> => {
		const { promise, resolve, reject } = Promise.withResolvers<Admitted[]>();
		const tickets = batch.map(({ ticket }) => ticket);
		calls.push({
			tickets,
			answer(admitted) {
				resolve(
					tickets.map((ticket, i) =>
						admitted.includes(ticket)
							? { ok: true, outputTokens: i + 1 }
							: { ok: false, failure: "rateLimited" },
					),
				);
				return settled();
			},
			fail(error) {
				reject(error);
				return settled();
			},
		});
		return promise;
	};
	return {
		calls,
		alive,
		isIdle: () => admissions.isIdle,
		/** As if the contexts of the waiting requests ended. */
		loseTimers: () => timers.clear(),
		admit: (ticket: string) => {
			const admitted = admissions.add(admission({ ticket }), admitAll);
			admitted.catch(() => {});
			return admitted;
		},
		async pass(milliseconds: number) {
			const end = now + milliseconds;
			for (;;) {
				await settled();
				const next = timers.dueBy(end);
				if (!next) break;
				now = next.at;
				next.fire();
			}
			now = end;
		},
	};
}

/** Resolves when all promises that can settle now have settled. */
async function settled(): Promise<void> {
	for (let i = 0; i < 20; i++) await Promise.resolve();
}

const granted = (outputTokens: number): Admitted => ({ ok: true, outputTokens });
const refused: Admitted = { ok: false, failure: "rateLimited" };

describe("admissions", () => {
	it("start a call at once if no call is under way", async () => {
		const { admit, calls, isIdle } = queue();
		const a = admit("a");
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"]]);
		await calls[0]?.answer(["a"]);
		expect(await a).toEqual(granted(1));
		expect(isIdle()).toBe(true);
		admit("b");
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"], ["b"]]);
	});

	it("wait for the call that is under way and share the next one, each with its own answer", async () => {
		const { admit, calls, isIdle } = queue();
		const all = ["a", "b", "c", "d"].map(admit);
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"]]);
		await calls[0]?.answer(["a"]);
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"], ["b", "c", "d"]]);
		const e = admit("e");
		await calls[1]?.answer(["b", "d"]);
		expect(await Promise.all(all)).toEqual([granted(1), granted(1), refused, granted(3)]);
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"], ["b", "c", "d"], ["e"]]);
		await calls[2]?.answer(["e"]);
		expect(await e).toEqual(granted(1));
		expect(isIdle()).toBe(true);
	});

	it("fail together with their call only", async () => {
		const { admit, calls } = queue();
		const all = ["a", "b", "c"].map(admit);
		await calls[0]?.answer(["a"]);
		const d = admit("d");
		await calls[1]?.fail(new Error("overloaded"));
		expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
			"fulfilled",
			"rejected",
			"rejected",
		]);
		await calls[2]?.answer(["d"]);
		expect(await d).toEqual(granted(1));
	});

	it("are at most 100 in one call", async () => {
		const { admit, calls } = queue();
		for (let i = 0; i < 200; i++) admit(String(i));
		await calls[0]?.answer(["0"]);
		await calls[1]?.answer([]);
		expect(calls.map(({ tickets }) => tickets.length)).toEqual([1, 100, 99]);
	});

	it.each([
		{ waiting: 7, tookMs: 2, pauseMs: 0 },
		{ waiting: 8, tookMs: 2, pauseMs: 6 },
		{ waiting: 8, tookMs: 0, pauseMs: 0 },
		{ waiting: 20, tookMs: 50, pauseMs: 10 },
		// The clock was set back.
		{ waiting: 8, tookMs: -60_000, pauseMs: 0 },
	])(
		"begin the next call $pauseMs ms after one of $tookMs ms for which $waiting wait",
		async ({ waiting, tookMs, pauseMs }) => {
			const { admit, calls, pass } = queue();
			admit("first");
			const all = Array.from({ length: waiting }, (_, i) => admit(String(i)));
			await pass(tookMs);
			await calls[0]?.answer(["first"]);
			if (pauseMs > 0) {
				await pass(pauseMs - 1);
				expect(calls).toHaveLength(1);
				all.push(admit("during the pause"));
				await pass(1);
			}
			expect(calls[1]?.tickets).toHaveLength(all.length);
			await calls[1]?.answer([]);
			expect(await Promise.all(all)).toEqual(all.map(() => refused));
		},
	);

	it("do not wait longer than 100 ms for a slow call", async () => {
		const { admit, calls, pass } = queue();
		admit("slow");
		await pass(1);
		const [a, b] = [admit("a"), admit("b")];
		await pass(98);
		const c = admit("c");
		expect(calls).toHaveLength(1);
		await pass(2);
		// The first request whose wait ends makes a call for all.
		expect(calls.map(({ tickets }) => tickets)).toEqual([["slow"], ["a", "b", "c"]]);
		await calls[1]?.answer(["a", "b", "c"]);
		expect(await Promise.all([a, b, c])).toEqual([granted(1), granted(2), granted(3)]);
		// The slow call ends while another is under way, and does not start the next call.
		admit("d");
		admit("e");
		await calls[0]?.answer(["slow"]);
		expect(calls.map(({ tickets }) => tickets).slice(2)).toEqual([["d"]]);
		await calls[2]?.answer(["d"]);
		expect(calls.map(({ tickets }) => tickets).slice(3)).toEqual([["e"]]);
	});

	it("start a call at once if the one that is under way is 100 ms old", async () => {
		const { admit, calls, pass } = queue();
		admit("slow");
		await pass(100);
		admit("a");
		expect(calls.map(({ tickets }) => tickets)).toEqual([["slow"], ["a"]]);
	});

	it("keep only the context alive whose call contains other requests", async () => {
		const { admit, calls, alive } = queue();
		const own = admit("a");
		// A call for one request may end with its request.
		expect(alive.size).toBe(0);
		const others = ["b", "c", "d"].map(admit);
		await calls[0]?.answer(["a"]);
		await own;
		expect(calls[1]?.tickets).toEqual(["b", "c", "d"]);
		// The two requests that wait for b's call, and the call itself.
		expect(alive.size).toBe(3);
		await calls[1]?.answer(["b", "c", "d"]);
		await Promise.all(others);
		await settled();
		expect(alive.size).toBe(0);
	});

	it("fail if their call is lost", async () => {
		const { admit, calls, pass, alive } = queue();
		admit("a");
		const b = admit("b");
		await calls[0]?.answer(["a"]);
		const c = admit("c");
		const d = admit("d");
		await calls[1]?.answer(["b"]);
		expect(calls[2]?.tickets).toEqual(["c", "d"]);
		await pass(10_100);
		await expect(c).rejects.toThrow("lost");
		await expect(d).rejects.toThrow("lost");
		await calls[2]?.answer(["c", "d"]);
		expect(await b).toEqual(granted(1));
		await settled();
		expect(alive.size).toBe(0);
	});
});
