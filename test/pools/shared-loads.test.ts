import { expect, it } from "vitest";
import { type Loads, SharedLoads } from "../../src/pools/shared-loads.ts";

const load = (url: string, tokens: number) => ({ url, tokens });

/** Shares loads, without hints. */
function loadsOnly() {
	const shared = new SharedLoads();
	return (isolate: string, loads: Loads, now: number) => {
		const { isolates, others } = shared.exchange(isolate, { loads, hints: [], since: 0 }, now);
		return { others, isolates };
	};
}

it("an isolate gets the sums of the others, each of which counts for five seconds", () => {
	const share = loadsOnly();
	expect(share("a", [load("1", 5)], 0)).toEqual({ others: [], isolates: 1 });
	expect(share("b", [load("1", 3), load("2", 4)], 1_000)).toEqual({
		others: [load("1", 5)],
		isolates: 2,
	});
	expect(share("c", [], 1_500)).toEqual({ others: [load("1", 8), load("2", 4)], isolates: 3 });
	expect(share("a", [load("1", 1)], 2_000)).toEqual({
		others: [load("1", 3), load("2", 4)],
		isolates: 3,
	});
	expect(share("b", [], 3_000)).toEqual({ others: [load("1", 1)], isolates: 3 });
	expect(share("c", [], 6_999)).toEqual({ others: [load("1", 1)], isolates: 3 });
	expect(share("c", [], 7_000)).toEqual({ others: [], isolates: 2 });
});

it("the loads of an isolate that has ended are not used longer because the clock was set back by an hour", () => {
	const share = loadsOnly();
	share("ended", [load("1", 5)], 3_600_000);
	expect(share("a", [load("1", 1)], 0)).toEqual({ others: [], isolates: 1 });
	expect(share("b", [], 1_000)).toEqual({ others: [load("1", 1)], isolates: 2 });
});

it("the loads of at most 5,000 isolates are kept", () => {
	const share = loadsOnly();
	for (let i = 1; i < 5_000; i++) share(`${i}`, [load("1", 1)], 0);
	expect(share("a", [load("1", 1)], 0)).toEqual({ others: [load("1", 4_999)], isolates: 5_000 });
	expect(share("b", [load("1", 1)], 0)).toEqual({ others: [load("1", 4_999)], isolates: 5_000 });
});
