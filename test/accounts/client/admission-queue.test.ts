import { describe, expect, it } from "vitest";
import type { Admission, Admitted } from "../../../src/accounts/admission.ts";
import { AdmissionQueue } from "../../../src/accounts/client/admission-queue.ts";
import { admission } from "../ask.ts";

interface Call {
	tickets: string[];
	/** Lets in those named, for one token each; refuses the others. */
	answer(admitted: readonly string[]): Promise<void>;
	fail(error: unknown): Promise<void>;
}

/** Calls are answered by the test, time passes when it says so. */
function queue() {
	let now = 1_000;
	let timers: { at: number; ring(): void }[] = [];
	const alive = new Set<Promise<unknown>>();
	const calls: Call[] = [];
	const admissions = new AdmissionQueue({
		now: () => now,
		wait: (milliseconds) =>
			new Promise((resolve) => {
				timers.push({ at: now + milliseconds, ring: resolve });
			}),
		waitUntil: (promise) => {
			alive.add(promise);
			promise.finally(() => alive.delete(promise));
		},
	});
	const admitAll = (asked: readonly Admission[]): Promise<Admitted[]> => {
		const { promise, resolve, reject } = Promise.withResolvers<Admitted[]>();
		const tickets = asked.map(({ ticket }) => ticket);
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
				return rest();
			},
			fail(error) {
				reject(error);
				return rest();
			},
		});
		return promise;
	};
	return {
		calls,
		alive,
		isIdle: () => admissions.isIdle,
		/** As when the contexts end that wait. */
		loseTimers: () => {
			timers = [];
		},
		admit: (ticket: string) => {
			const admitted = admissions.admit(admission({ ticket }), admitAll);
			admitted.catch(() => {});
			return admitted;
		},
		ahead: (ticket: string) => {
			const state = { heard: 0, told: false };
			const { answer, needed } = admissions.admitAhead(admission({ ticket }), admitAll, () => {
				state.heard++;
			});
			answer.then(
				() => {
					state.told = true;
				},
				() => {},
			);
			return { answer, needed, state };
		},
		async pass(milliseconds: number) {
			const end = now + milliseconds;
			for (;;) {
				await rest();
				const [next] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
				if (!next) break;
				now = next.at;
				timers = timers.filter((timer) => timer !== next);
				next.ring();
			}
			now = end;
		},
	};
}

/** Lets all that can run now come to rest. */
async function rest(): Promise<void> {
	for (let turns = 0; turns < 20; turns++) await Promise.resolve();
}

const granted = (outputTokens: number): Admitted => ({ ok: true, outputTokens });
const refused: Admitted = { ok: false, failure: "rateLimited" };

describe("admissions to one account", () => {
	it("go at once where no call is under way", async () => {
		const { admit, calls, isIdle } = queue();
		const a = admit("a");
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"]]);
		await calls[0]?.answer(["a"]);
		expect(await a).toEqual(granted(1));
		expect(isIdle()).toBe(true);
		admit("b");
		expect(calls.map(({ tickets }) => tickets)).toEqual([["a"], ["b"]]);
	});

	it("wait for the call that is under way, and share the next; each gets its own answer", async () => {
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

	it("fail together, and those after them do not", async () => {
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

	it("are at most 100 a call", async () => {
		const { admit, calls } = queue();
		for (let i = 0; i < 200; i++) admit(String(i));
		await calls[0]?.answer(["0"]);
		await calls[1]?.answer([]);
		expect(calls.map(({ tickets }) => tickets.length)).toEqual([1, 100, 99]);
	});

	it("do not wait for a call that takes long", async () => {
		const { admit, calls, pass } = queue();
		admit("slow");
		await pass(1);
		const [a, b] = [admit("a"), admit("b")];
		await pass(98);
		const c = admit("c");
		expect(calls).toHaveLength(1);
		await pass(2);
		// The first to lose heart takes the others along.
		expect(calls.map(({ tickets }) => tickets)).toEqual([["slow"], ["a", "b", "c"]]);
		await calls[1]?.answer(["a", "b", "c"]);
		expect(await Promise.all([a, b, c])).toEqual([granted(1), granted(2), granted(3)]);
		// The one that took long ends while another is under way, and leaves that one its turn.
		admit("d");
		admit("e");
		await calls[0]?.answer(["slow"]);
		expect(calls.map(({ tickets }) => tickets).slice(2)).toEqual([["d"]]);
		await calls[2]?.answer(["d"]);
		expect(calls.map(({ tickets }) => tickets).slice(3)).toEqual([["e"]]);
	});

	it("keep the context alive whose call took others along, and no other", async () => {
		const { admit, calls, alive } = queue();
		const own = admit("a");
		// A call for one request may end with its request.
		expect(alive.size).toBe(0);
		const others = ["b", "c", "d"].map(admit);
		await calls[0]?.answer(["a"]);
		await own;
		expect(calls[1]?.tickets).toEqual(["b", "c", "d"]);
		// The two that wait for b's call, and that call itself.
		expect(alive.size).toBe(3);
		await calls[1]?.answer(["b", "c", "d"]);
		await Promise.all(others);
		await rest();
		expect(alive.size).toBe(0);
	});

	it("fail where the call that took them along is lost", async () => {
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
		await rest();
		expect(alive.size).toBe(0);
	});
});

describe("admissions of requests that go ahead", () => {
	const ticketsOf = (calls: Call[]) => calls.map(({ tickets }) => tickets);

	it("make a call at once, and then one every so often", async () => {
		const { ahead, calls, pass } = queue();
		ahead("a");
		expect(ticketsOf(calls)).toEqual([["a"]]);
		await calls[0]?.answer(["a"]);
		ahead("b");
		await pass(9);
		ahead("c");
		expect(ticketsOf(calls)).toEqual([["a"]]);
		await pass(1);
		expect(ticketsOf(calls)).toEqual([["a"], ["b", "c"]]);
		await calls[1]?.answer(["b", "c"]);
		await pass(10);
		ahead("d");
		expect(ticketsOf(calls)).toEqual([["a"], ["b", "c"], ["d"]]);
	});

	it("wait for the call that is under way, and then for company", async () => {
		const { ahead, calls, pass } = queue();
		for (const ticket of ["a", "b", "c"]) ahead(ticket);
		await pass(1);
		await calls[0]?.answer(["a"]);
		expect(ticketsOf(calls)).toEqual([["a"]]);
		ahead("d");
		await pass(9);
		expect(calls).toHaveLength(2);
		expect(calls[1]?.tickets.toSorted()).toEqual(["b", "c", "d"]);
	});

	it("leave the object in peace for as many times what its call took, and not for long", async () => {
		for (const [took, rests] of [
			[8, 24],
			[50, 30],
		] as const) {
			const { ahead, calls, pass } = queue();
			ahead("a");
			ahead("b");
			await pass(took);
			await calls[0]?.answer(["a"]);
			await pass(rests - 1);
			expect(calls).toHaveLength(1);
			await pass(1);
			expect(ticketsOf(calls)).toEqual([["a"], ["b"]]);
		}
	});

	it("go along with one that waits for its answer", async () => {
		const { admit, ahead, calls } = queue();
		ahead("a");
		await calls[0]?.answer(["a"]);
		ahead("b");
		const c = admit("c");
		expect(ticketsOf(calls)).toEqual([["a"], ["c", "b"]]);
		await calls[1]?.answer(["b", "c"]);
		expect(await c).toEqual(granted(1));
	});

	it("leave the turn to one that waits for its answer", async () => {
		const { admit, ahead, calls } = queue();
		ahead("a");
		ahead("b");
		admit("c");
		await calls[0]?.answer(["a"]);
		expect(ticketsOf(calls)).toEqual([["a"], ["c", "b"]]);
	});

	it("are told of a yes when they need it, and of anything else at once", async () => {
		const { ahead, calls } = queue();
		ahead("first");
		const [yes, no, early] = [ahead("yes"), ahead("no"), ahead("early")];
		early.needed();
		await calls[0]?.answer(["first"]);
		await calls[1]?.answer(["yes", "early"]);
		expect([yes.state, no.state, early.state]).toEqual([
			{ heard: 1, told: false },
			{ heard: 1, told: true },
			{ heard: 1, told: true },
		]);
		expect(await no.answer).toEqual(refused);
		yes.needed();
		expect(await yes.answer).toEqual(granted(2));
	});

	it("make a call at once when they need the answer, and take the others along", async () => {
		const { ahead, calls, pass } = queue();
		ahead("a");
		await calls[0]?.answer(["a"]);
		ahead("b");
		ahead("c").needed();
		expect(ticketsOf(calls)).toEqual([["a"], ["c", "b"]]);
		await calls[1]?.answer(["b", "c"]);
		await pass(10);
		expect(calls).toHaveLength(2);
	});

	it("are woken by one of them, although another call took their waker along", async () => {
		const { admit, ahead, calls, pass } = queue();
		ahead("a");
		await calls[0]?.answer(["a"]);
		ahead("waker");
		admit("b");
		await calls[1]?.answer(["b", "waker"]);
		ahead("c");
		await pass(10);
		expect(ticketsOf(calls)).toEqual([["a"], ["b", "waker"], ["c"]]);
	});

	it("are heard of once, also where the call that took them along is lost", async () => {
		const { admit, ahead, calls, pass } = queue();
		admit("a");
		const b = admit("b");
		const one = ahead("c");
		one.needed();
		await calls[0]?.answer(["a"]);
		expect(calls[1]?.tickets).toEqual(["b", "c"]);
		await pass(10_100);
		await expect(one.answer).rejects.toThrow("lost");
		await calls[1]?.answer(["b", "c"]);
		await expect(b).rejects.toThrow("lost");
		expect(one.state.heard).toBe(1);
	});

	it("take the turn when they need the answer, without waiting for company", async () => {
		const { ahead, calls } = queue();
		ahead("a");
		ahead("b");
		ahead("c").needed();
		await calls[0]?.answer(["a"]);
		expect(ticketsOf(calls)).toEqual([["a"], ["c", "b"]]);
	});

	it("are told at once of a call that failed", async () => {
		const { ahead, calls } = queue();
		const one = ahead("a");
		await calls[0]?.fail(new Error("overloaded"));
		await expect(one.answer).rejects.toThrow("overloaded");
		expect(one.state.heard).toBe(1);
	});

	it("lose heart like others once they need the answer", async () => {
		const { ahead, calls, pass } = queue();
		ahead("hangs");
		const one = ahead("a");
		await pass(100);
		expect(calls).toHaveLength(1);
		one.needed();
		await pass(100);
		expect(ticketsOf(calls)).toEqual([["hangs"], ["a"]]);
		await calls[1]?.answer(["a"]);
		expect(await one.answer).toEqual(granted(1));
	});

	it("make the call of one whose context has ended", async () => {
		const { ahead, calls, pass, loseTimers } = queue();
		ahead("a");
		await calls[0]?.answer(["a"]);
		ahead("gone");
		loseTimers();
		await pass(100);
		ahead("b");
		expect(ticketsOf(calls)).toEqual([["a"], ["b", "gone"]]);
	});
});
