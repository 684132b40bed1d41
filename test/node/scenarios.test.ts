/** What the soak's scenarios find in rows that the engine's records do not explain. */
import { describe, expect, it } from "vitest";
import type { Row } from "../../tools/soak/gateway.ts";
import { compare } from "../../tools/soak/play.ts";
import { costOfServed } from "../../tools/soak/scenarios.ts";

const SERVED = { scenario: "case", backend: "fast", complete: true, promptTokens: 10, outputTokens: 2 };
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

describe("an engine's record", () => {
	it.each([
		["a chat", { promptTokens: 10, outputTokens: 2 }, 460_002],
		["an image of four tiles in four steps", { image: { width: 1024, height: 1024, steps: 4 } }, 172_800_000],
		["ten characters", { characters: 10 }, 13_636_400],
		["90 seconds of audio", { milliseconds: 90_000 }, 69_945_000],
	])("has the price of the price list: %s", (_, record, cost) => {
		expect(costOfServed({ scenario: "", backend: "", complete: true, ...record })).toBe(cost);
	});
});

describe("a comparison", () => {
	it("finds nothing if each answer has a row", () => {
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
			"1 answers of the engine are not billed, at most 0 are allowed",
		],
		["a request without a row", [[]], "1 requests were answered, 0 are recorded"],
		["a second row", [[ROW, { ...ROW, id: "2" }]], "2 requests are recorded, 1 were answered"],
		["a failure that is billed", [[{ ...ROW, outcome: "failed", neurons: 0.1 }]], "failed soak/chat: 100000"],
		[
			"a bill above its reservation",
			[[{ ...ROW, reserved_neurons: 0.4 }]],
			"costs more than its reservation",
		],
		[
			"more calls than the route allows",
			[[ROW], [SERVED, SERVED, SERVED]],
			"3 calls of engines for 1 requests",
		],
		["an expiry without a restart", [[{ ...ROW, outcome: "expired", neurons: 1 }]], "expired soak/chat"],
		[
			"an expiry at another price than was reserved",
			[[{ ...ROW, outcome: "expired" }], [SERVED], [200], { fileBlocks: 1 }],
			"expired with another price",
		],
	])("finds %s", (_, rows, problem) => {
		expect(problemsOf(...rows).join("\n")).toContain(problem);
	});
});
