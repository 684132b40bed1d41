import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue, type Queued } from "../../src/pools/fair-queue.ts";

interface Item extends Queued {
	name: string;
}

let names = 0;
const item = (account: string, cost = 1, more: Partial<Item> = {}): Item => ({
	name: `${account}${++names}`,
	account,
	priority: "interactive",
	cost,
	weight: 1,
	...more,
});

function takeAll(queue: FairQueue<Item>, limit = Number.POSITIVE_INFINITY): Item[] {
	const taken: Item[] = [];
	for (let next = queue.next; next && taken.length < limit; next = queue.next) {
		queue.take(next);
		taken.push(next);
	}
	return taken;
}

describe("FairQueue", () => {
	it("keeps the order of one account", () => {
		const queue = new FairQueue<Item>();
		const items = [item("a"), item("a"), item("a")];
		for (const one of items) queue.push(one);
		expect(takeAll(queue)).toEqual(items);
		expect(queue.next).toBeUndefined();
	});

	it("takes interactive requests before batch requests", () => {
		const queue = new FairQueue<Item>();
		const batch = item("a", 1, { priority: "batch" });
		const interactive = item("b");
		queue.push(batch);
		queue.push(interactive);
		expect(takeAll(queue)).toEqual([interactive, batch]);
	});

	it("shares the tokens between accounts, not the requests", () => {
		const queue = new FairQueue<Item>();
		for (let i = 0; i < 100; i++) queue.push(item("long", 1_000));
		for (let i = 0; i < 100; i++) queue.push(item("short", 100));
		const taken = takeAll(queue, 55).map(({ account }) => account);
		expect(taken.filter((account) => account === "long")).toHaveLength(5);
		expect(taken.filter((account) => account === "short")).toHaveLength(50);
	});

	it("gives accounts their weights", () => {
		const queue = new FairQueue<Item>();
		for (let i = 0; i < 40; i++) {
			queue.push(item("heavy", 10, { weight: 3 }));
			queue.push(item("light", 10));
		}
		const taken = takeAll(queue, 40).map(({ account }) => account);
		expect(taken.filter((account) => account === "heavy")).toHaveLength(30);
	});

	it("gives an account that comes back no credit for the time in which it was idle", () => {
		const queue = new FairQueue<Item>();
		queue.push(item("new", 100));
		takeAll(queue);
		for (let i = 0; i < 20; i++) queue.push(item("busy", 100));
		takeAll(queue, 10);
		for (let i = 0; i < 10; i++) queue.push(item("new", 100));
		const taken = takeAll(queue, 10).map(({ account }) => account);
		expect(taken.filter((account) => account === "new")).toHaveLength(5);
	});

	it("gives no credit for the time in which no account waited", () => {
		const queue = new FairQueue<Item>();
		for (let i = 0; i < 10; i++) {
			queue.push(item("busy", 100));
			takeAll(queue);
		}
		for (let i = 0; i < 10; i++) {
			queue.push(item("new", 100));
			queue.push(item("busy", 100));
		}
		const taken = takeAll(queue, 9).map(({ account }) => account);
		expect(taken.filter((account) => account === "new")).toHaveLength(5);
	});

	it("charges the real cost instead of the estimate", () => {
		const queue = new FairQueue<Item>();
		const first = item("greedy", 10);
		queue.push(first);
		queue.push(item("modest", 10));
		takeAll(queue);
		for (let i = 0; i < 10; i++) {
			queue.push(item("greedy", 10));
			queue.push(item("modest", 10));
		}
		// The answer was longer than expected: five requests of the other account make up for it.
		queue.correct(first, 60);
		expect(takeAll(queue, 5).map(({ account }) => account)).toEqual(Array(5).fill("modest"));
	});

	it("charges nothing for a request that cost nothing", () => {
		const queue = new FairQueue<Item>();
		const free = item("free");
		// Half a token each.
		const paid = item("paid", 1, { weight: 2 });
		for (const one of [free, paid, item("free"), item("paid", 1, { weight: 2 })]) queue.push(one);
		queue.take(free);
		queue.take(paid);
		expect(queue.next?.account).toBe("paid");
		queue.correct(free, 0);
		expect(queue.next?.account).toBe("free");
	});

	it("forgets a request that leaves, without a charge", () => {
		const queue = new FairQueue<Item>();
		const impatient = item("a", 1_000_000);
		queue.push(impatient);
		expect(queue.size).toBe(1);
		expect(queue.delete(impatient)).toBe(true);
		expect(queue.delete(impatient)).toBe(false);
		expect(queue.size).toBe(0);
		expect([...queue.items()]).toEqual([]);
		queue.push(item("b", 1));
		queue.push(item("a", 1));
		queue.push(item("b", 1));
		expect(takeAll(queue).map(({ account }) => account)).toEqual(["b", "a", "b"]);
	});

	it("forgets idle accounts without changing the shares", () => {
		const queue = new FairQueue<Item>();
		for (let i = 0; i < 5_000; i++) {
			queue.push(item(`account-${i}`));
			takeAll(queue);
		}
		for (let i = 0; i < 10; i++) {
			queue.push(item("x", 5));
			queue.push(item("account-7", 5));
		}
		const taken = takeAll(queue, 10).map(({ account }) => account);
		expect(taken.filter((account) => account === "x")).toHaveLength(5);
	});

	it("keeps an account that waits when it forgets idle accounts", () => {
		const queue = new FairQueue<Item>();
		const waiting = item("waiting");
		queue.push(waiting);
		for (let i = 0; i < 2_000; i++) {
			const served = item(`account-${i}`);
			queue.push(served);
			queue.take(served);
		}
		expect([...queue.items()]).toEqual([waiting]);
		expect(takeAll(queue)).toEqual([waiting]);
	});

	it("keeps the debt of an account when it forgets idle accounts", () => {
		const queue = new FairQueue<Item>();
		const long = item("in debt");
		queue.push(long);
		queue.take(long);
		queue.correct(long, 1_000);
		for (let i = 0; i < 2_000; i++) {
			const served = item(`account-${i}`, 0.1);
			queue.push(served);
			queue.take(served);
		}
		const others = Array.from({ length: 10 }, () => item("other", 50));
		for (const other of others) queue.push(other);
		queue.push(item("in debt"));
		expect(takeAll(queue, 10)).toEqual(others);
	});

	it("keeps two accounts that always wait within the bound of the virtual token counter", () => {
		const costs = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 40, maxLength: 40 });
		fc.assert(
			fc.property(costs, costs, fc.array(fc.boolean(), { maxLength: 20 }), (a, b, thirds) => {
				const queue = new FairQueue<Item>();
				for (const cost of a) queue.push(item("a", cost));
				for (const cost of b) queue.push(item("b", cost));
				const served = { a: 0, b: 0 };
				const largest = Math.max(...a, ...b);
				let step = 0;
				for (let next = queue.next; next; next = queue.next) {
					queue.take(next);
					if (next.account === "a" || next.account === "b") served[next.account] += next.cost;
					// A third account comes and goes.
					if (thirds[step++]) queue.push(item("c", 700));
					const waiting = new Set([...queue.items()].map(({ account }) => account));
					if (!waiting.has("a") || !waiting.has("b")) break;
					expect(Math.abs(served.a - served.b)).toBeLessThanOrEqual(2 * largest);
				}
			}),
		);
	});

	it("takes each request once, whatever leaves", () => {
		const step = fc.record({
			account: fc.constantFrom("a", "b", "c"),
			cost: fc.nat(1_000),
			priority: fc.constantFrom("interactive" as const, "batch" as const),
			action: fc.constantFrom("wait", "take", "leave"),
		});
		fc.assert(
			fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
				const queue = new FairQueue<Item>();
				const waiting = new Set<Item>();
				for (const { account, cost, priority, action } of steps) {
					const one = item(account, cost, { priority });
					queue.push(one);
					waiting.add(one);
					const removed = action === "take" ? queue.next : action === "leave" ? [...waiting][0] : undefined;
					if (!removed) continue;
					expect(waiting.delete(removed)).toBe(true);
					if (action === "take") queue.take(removed);
					else expect(queue.delete(removed)).toBe(true);
				}
				expect(new Set(queue.items())).toEqual(waiting);
				expect(queue.size).toBe(waiting.size);
				expect(new Set(takeAll(queue))).toEqual(waiting);
			}),
		);
	});
});
