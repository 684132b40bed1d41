import { expect, it } from "vitest";
import { SharedLoads } from "../../src/pools/shared-loads.ts";

const load = (url: string, tokens: number) => ({ url, tokens });

it("an isolate gets the sums of the others, each of which counts for five seconds", () => {
	const shared = new SharedLoads();
	expect(shared.exchange("a", [load("1", 5)], 0)).toEqual({ others: [], isolates: 1 });
	expect(shared.exchange("b", [load("1", 3), load("2", 4)], 1_000)).toEqual({
		others: [load("1", 5)],
		isolates: 2,
	});
	expect(shared.exchange("c", [], 1_500)).toEqual({ others: [load("1", 8), load("2", 4)], isolates: 3 });
	expect(shared.exchange("a", [load("1", 1)], 2_000)).toEqual({
		others: [load("1", 3), load("2", 4)],
		isolates: 3,
	});
	expect(shared.exchange("b", [], 3_000)).toEqual({ others: [load("1", 1)], isolates: 3 });
	expect(shared.exchange("c", [], 6_999)).toEqual({ others: [load("1", 1)], isolates: 3 });
	expect(shared.exchange("c", [], 7_000)).toEqual({ others: [], isolates: 2 });
});

it("the loads of at most 5,000 isolates are kept", () => {
	const shared = new SharedLoads();
	for (let i = 1; i < 5_000; i++) shared.exchange(`${i}`, [load("1", 1)], 0);
	expect(shared.exchange("a", [load("1", 1)], 0)).toEqual({ others: [load("1", 4_999)], isolates: 5_000 });
	expect(shared.exchange("b", [load("1", 1)], 0)).toEqual({ others: [load("1", 4_999)], isolates: 5_000 });
});
