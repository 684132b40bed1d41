import { describe, expect, it } from "vitest";
import { type EngineLoad, Replica } from "../../src/pools/replica.ts";

const MEAN = { prefill: 1_000, decode: 100 };
const replica = (fields: Partial<Replica> = {}): Replica => Object.assign(new Replica("http://1", 0), fields);

it("has no work at first, and accepts requests", () => {
	expect(new Replica("http://1", 7)).toMatchObject({
		url: "http://1",
		chosen: 7,
		draining: false,
		...{ requests: 0, prefillTokens: 0, decodeTokens: 0, queuedTokens: 0, othersTokens: 0, tokens: 0 },
		...{ speedClass: 0, cacheBlocks: 1_000, newBlocks: 0, reportsCachedTokens: false },
	});
});

describe("the queue of a replica", () => {
	it.each<[string, Partial<Replica>, EngineLoad, number]>([
		["waiting and running requests of others", {}, { running: 1, waiting: 3 }, 3_002],
		["requests of others beside two of the pool", { requests: 2 }, { running: 1, waiting: 3 }, 1_501],
		["no request", {}, { running: 0, waiting: 0 }, 0],
		["fewer requests than the pool", { requests: 2 }, { running: 1, waiting: 0 }, 0],
		[
			"more waiting tokens than the pool",
			{ prefillTokens: 200 },
			{ running: 0, waiting: 1, waitingTokens: 500 },
			500,
		],
		[
			"fewer waiting tokens than the pool",
			{ prefillTokens: 200 },
			{ running: 0, waiting: 1, waitingTokens: 100 },
			200,
		],
		["no other work, with output of the pool", { decodeTokens: 500 }, { running: 0, waiting: 0 }, 10],
	])("with %s", (_, fields, load, tokens) => {
		const one = replica(fields);
		one.setReport({ load, at: 0, validMs: 1, mean: MEAN });
		expect(one.queuedTokens).toBe(tokens);
	});

	it("counts work that both the engine and the other isolates report once", () => {
		const one = replica({ prefillTokens: 5, decodeTokens: 50 });
		one.setReport({ load: { running: 0, waiting: 3 }, at: 7, validMs: 9, mean: MEAN });
		one.setOthers(2_000);
		expect([one.queuedTokens, one.ownTokens, one.othersTokens, one.tokens]).toEqual([3_006, 6, 2_000, 55]);
		expect(one.report).toEqual({ load: { running: 0, waiting: 3 }, at: 7, validMs: 9 });
		one.setOthers(4_000);
		expect(one.queuedTokens).toBe(4_006);
		one.setOthers(2_000);
		one.forgetReport();
		expect([one.queuedTokens, one.report]).toEqual([2_006, undefined]);
	});
});

describe("the cache of a replica", () => {
	it.each([
		[51_200, 100],
		[51_711, 100],
		[100, 64],
		[0, 64],
		[1e9, 50_000],
	])("of %i tokens has %i blocks", (tokens, blocks) => {
		const one = replica();
		one.setCacheTokens(tokens);
		expect(one.cacheBlocks).toBe(blocks);
	});

	it("keeps its correction until the engine reports another size", () => {
		const one = replica();
		one.setCacheTokens(51_200);
		one.correctCache(1_000, 0, 512);
		expect(one.cacheBlocks).toBe(95);
		one.setCacheTokens(51_200);
		expect(one.cacheBlocks).toBe(95);
		one.setCacheTokens(102_400);
		expect(one.cacheBlocks).toBe(200);
	});

	it.each([
		[1_000, 1_512, 1_000, 1_000],
		[1_000, 1_513, 1_000, 950],
		[1_000, 1_000, 1_512, 1_000],
		[1_000, 1_000, 1_513, 1_050],
		[64, 1_000, 0, 64],
		[50_000, 0, 1_000, 50_000],
	])("of %i blocks, with %i tokens expected and %i found, has %i", (cacheBlocks, expected, found, blocks) => {
		const one = replica({ cacheBlocks });
		one.correctCache(expected, found, 512);
		expect(one.cacheBlocks).toBe(blocks);
	});
});
