/** What the soak's scenarios find in rows that the engine's records do not explain. */
import { describe, expect, it } from "vitest";
import type { Row } from "../../soak/gateway.ts";
import { compare } from "../../soak/play.ts";
import { costOfServed } from "../../soak/scenarios.ts";

const SERVED = { scenario: "case", backend: "fast", whole: true, promptTokens: 10, outputTokens: 2 };
/** 10 x 20,000 and 2 x 130,001 micro-neurons. */
const NEURONS = 0.460_002;
const ROW: Row = {
	id: "1",
	outcome: "ok",
	model: "soak/chat",
	backend: "fast",
	attempts: 1,
	started_at: "2026-11-22T00:00:00.000Z",
	latency_ms: 1,
	input_tokens: 10,
	cached_tokens: 0,
	output_tokens: 2,
	neurons: NEURONS,
	reserved_neurons: 1,
	estimated: false,
};
const problemsOf = (rows: Row[], served = [SERVED], statuses = [200], limits?: object): string[] =>
	compare(
		{ name: "case", send: async () => ({ statuses }), ...(limits && { limits }) },
		{ statuses },
		rows,
		served,
	).problems;

describe("what an engine served", () => {
	it.each([
		["a chat", { promptTokens: 10, outputTokens: 2 }, 460_002],
		[
			"a picture of four tiles in four steps",
			{ picture: { width: 1024, height: 1024, steps: 4 } },
			172_800_000,
		],
		["ten characters", { characters: 10 }, 13_636_400],
		["a minute and a half of sound", { milliseconds: 90_000 }, 69_945_000],
	])("costs what the price list says: %s", (_, record, cost) => {
		expect(costOfServed({ scenario: "", backend: "", whole: true, ...record })).toBe(cost);
	});
});

describe("a comparison", () => {
	it("finds nothing where each answer has its row", () => {
		expect(problemsOf([ROW])).toEqual([]);
		expect(problemsOf([ROW, { ...ROW, id: "2" }], [SERVED, SERVED], [200, 200])).toEqual([]);
	});

	it.each<[string, Parameters<typeof problemsOf>, string]>([
		[
			"a bill that no answer explains",
			[[{ ...ROW, neurons: 0.46 }]],
			"which the engine's records do not explain",
		],
		[
			"an answer that is not billed",
			[[], [SERVED]],
			"1 answers of the engine are not billed, at most 0 may be so",
		],
		["a request without a row", [[]], "1 requests were answered, 0 are booked"],
		["a second row", [[ROW, { ...ROW, id: "2" }]], "2 requests are booked, 1 were answered"],
		["a failure that is billed", [[{ ...ROW, outcome: "failed", neurons: 0.1 }]], "failed soak/chat: 100000"],
		["a bill above its reservation", [[{ ...ROW, reserved_neurons: 0.4 }]], "costs more than was reserved"],
		["calls beyond the route's", [[ROW], [SERVED, SERVED, SERVED]], "3 calls of engines for 1 requests"],
		["an expiry without a restart", [[{ ...ROW, outcome: "expired", neurons: 1 }]], "expired soak/chat"],
		[
			"an expiry at another price than was reserved",
			[[{ ...ROW, outcome: "expired" }], [SERVED], [200], { fileBlocks: 1 }],
			"expired at another price",
		],
	])("finds %s", (_, rows, problem) => {
		expect(problemsOf(...rows).join("\n")).toContain(problem);
	});
});
