import { describe, expect, it } from "vitest";
import type { PoolRequest } from "../../../src/pools/choice.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { answersUnsplit, chooseLegs, isPairable, startLegs } from "../../../src/pools/prefill-decode/legs.ts";
import type { Disaggregation, DisaggregationName } from "../../../src/pools/prefill-decode/settings.ts";
import type { Role } from "../../../src/pools/replica.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";

const NO_CHANGES = new ReplicaChanges({ now: () => 0, wait: async () => {} });
const ROLES: Record<string, Role> = { p1: "prefill", p2: "prefill", d1: "decode", d2: "decode" };
const BLOCKS = Array.from({ length: 8 }, (_, i) => 1_000 + i);
/** 4,096 tokens in 8 blocks. */
const LONG: PoolRequest = {
	inputTokens: 4_096,
	blocks: BLOCKS,
	blockTokens: 512,
	streamed: true,
	choices: 1,
};
const SHORT: PoolRequest = { inputTokens: 512, blocks: [], blockTokens: 512, streamed: true, choices: 1 };

function poolOf(protocol: DisaggregationName = "nixl", both: string[] = []) {
	const disaggregation: Disaggregation = {
		protocol,
		roles: ROLES,
		minPrefillTokens: 512,
		bootstrapPorts: {},
		rewriteRemoteHost: false,
	};
	const pools = new Pools({ random: () => 0, changes: NO_CHANGES });
	const urls = [...Object.keys(ROLES), ...both];
	const pool = pools.of({ backend: "a", urls, pool: { disaggregation } });
	if (!pool?.prefill) throw new Error("no pool");
	const choose = (request: PoolRequest, { without = [] }: { without?: string[] } = {}) => {
		const usable = ({ url }: { url: string }) => !without.includes(url);
		return chooseLegs(pool, { request, now: 0, usable: { answer: usable, prefill: usable } });
	};
	const shown = (...args: Parameters<typeof choose>) => {
		const legs = choose(...args);
		return legs && [legs.prefill?.replica.url, legs.answer.replica.url, legs.reason];
	};
	const start = (request: PoolRequest) => {
		const legs = choose(request);
		if (!legs) throw new Error("no replicas");
		return { legs, flights: startLegs(pool, legs, request, 0) };
	};
	const loads = () =>
		pools.reports(0).map(({ stages }) => [
			[stages?.prefill.requests, stages?.prefill.prefillTokens, stages?.prefill.decodeTokens],
			[stages?.decode.requests, stages?.decode.prefillTokens, stages?.decode.decodeTokens],
		])[0];
	return { choose, loads, pool, shown, start };
}

describe("the choice of a pair", () => {
	it("has a prefill and a decode replica for a long prompt, and one replica for a short one", () => {
		const { shown } = poolOf();
		expect(shown(LONG)).toEqual(["p1", "d1", "pair"]);
		expect(shown(SHORT)).toEqual([undefined, "d1", "short"]);
		expect(shown({ ...SHORT, inputTokens: 513 })).toEqual(["p1", "d1", "pair"]);
	});

	it("takes the prefill replica by its queue and cache, and the decode replica by its load", () => {
		const { shown, start } = poolOf();
		const first = start(LONG);
		expect(first.legs.prefill?.replica.url).toBe("p1");
		// Another prompt waits behind the first, so the other prefill replica is sooner.
		const other = { ...LONG, blocks: BLOCKS.map((block) => block + 100) };
		expect(shown(other)).toEqual(["p2", "d2", "pair"]);
		first.flights.prefill?.firstToken(1);
		first.flights.prefill?.end(1);
		// A longer prompt with the same beginning: its cache is at p1. The output is still generated at d1.
		const longer = { ...LONG, inputTokens: 8_192, blocks: [...BLOCKS, 1, 2, 3, 4, 5, 6, 7, 8] };
		expect(shown(longer)).toEqual(["p1", "d2", "pair"]);
	});

	it("needs no prefill for a prompt that a decode replica has in its cache", () => {
		const { shown, start } = poolOf();
		const { flights } = start(LONG);
		flights.prefill?.end(1);
		flights.answer.end(1);
		expect(shown({ ...LONG, inputTokens: 4_600 })).toEqual([undefined, "d1", "cached"]);
		expect(shown({ ...LONG, inputTokens: 4_700 })).toEqual(["p1", "d2", "pair"]);
	});

	it("lets a replica of both roles answer if it is expected to be sooner", () => {
		const { shown, start } = poolOf("sglang", ["b1"]);
		expect(shown(LONG)).toEqual([undefined, "b1", "sooner"]);
		start(LONG);
		expect(shown({ ...LONG, blocks: [] })).toEqual(["p1", "d1", "pair"]);
	});

	it.each([
		["nixl", [undefined, "d1", "noPrefill"]],
		["tensorrt-llm", [undefined, "d1", "noPrefill"]],
		["sglang", undefined],
	] as const)("without a prefill replica, by protocol: %s", (protocol, expected) => {
		expect(poolOf(protocol).shown(LONG, { without: ["p1", "p2"] })).toEqual(expected);
	});

	it.each([
		["nixl", [undefined, "d1", "unpaired"]],
		["tensorrt-llm", [undefined, "d1", "unpaired"]],
		["sglang", ["p1", "d1", "pair"]],
	] as const)("for several choices, by protocol: %s", (protocol, expected) => {
		expect(poolOf(protocol).shown({ ...LONG, choices: 2 })).toEqual(expected);
	});

	it("always has a pair if decode replicas do not answer alone", () => {
		expect(poolOf("sglang").shown(SHORT)).toEqual(["p1", "d1", "pair"]);
		expect(poolOf("sglang").shown(LONG, { without: ["d1", "d2"] })).toBeUndefined();
	});
});

describe("the start of a pair", () => {
	it.each([
		["remembers its decode replica for the session", false, "d1"],
		["does not remember a decode replica that drains since the choice", true, undefined],
	])("%s", (_, drains, remembered) => {
		const { choose, pool } = poolOf();
		const request = { ...LONG, session: "s" };
		const legs = choose(request);
		if (!legs) throw new Error("no replicas");
		if (drains) pool.replicas.drain("d1");
		startLegs(pool, legs, request, 0);
		expect(pool.replicas.sessions.get("s")?.replica.url).toBe(remembered);
	});
});

describe("a pool", () => {
	it("without prefill replicas has one replica for each request", () => {
		const { pool } = poolOf();
		const usable = () => true;
		const query = { request: LONG, now: 0, usable: { answer: usable, prefill: usable } };
		const legs = chooseLegs({ replicas: pool.replicas, settings: pool.settings }, query);
		expect(legs).toEqual({ answer: expect.objectContaining({ replica: expect.anything() }) });
	});

	it.each([
		["nixl", [], true],
		["tensorrt-llm", [], true],
		["sglang", [], false],
		["sglang", ["b1"], true],
	] as const)(
		"of %s with %j beside pairs answers requests that are not split: %s",
		(protocol, both, expected) => {
			expect(answersUnsplit(poolOf(protocol, [...both]).pool)).toBe(expected);
		},
	);

	it.each([
		["nixl", undefined, false],
		["nixl", 1, true],
		["nixl", 2, false],
		["sglang", 2, true],
	] as const)("of %s splits a request of %s choices: %s", (protocol, choices, expected) => {
		expect(isPairable(poolOf(protocol).pool.settings, choices)).toBe(expected);
	});

	it("of one stage splits nothing", () => {
		const { pool } = poolOf();
		expect(answersUnsplit({ replicas: pool.replicas, settings: {} })).toBe(true);
		expect(isPairable({}, 1)).toBe(false);
	});
});

describe("the flights of a pair", () => {
	it("count prompt tokens at one stage and output tokens at the other, and return to zero", () => {
		const { loads, start } = poolOf();
		const { flights } = start({ ...LONG, maxOutputTokens: 100 });
		// 4,096 tokens and 64 for the request. Prompt and output: 4,196.
		expect(loads()).toEqual([
			[1, 4_160, 0],
			[1, 0, 4_196],
		]);
		flights.prefill?.firstToken(1);
		// The prefill replica generates one token.
		expect(loads()).toEqual([
			[1, 0, 4_097],
			[1, 0, 4_196],
		]);
		flights.prefill?.end(1, { inputTokens: 4_096, outputTokens: 1 });
		flights.answer.end(2, { inputTokens: 4_096, cachedTokens: 4_095, outputTokens: 9 });
		expect(loads()).toEqual([
			[0, 0, 0],
			[0, 0, 0],
		]);
	});

	it("learn nothing about a decode replica's cache from the tokens that were transferred to it", () => {
		const { start } = poolOf();
		const { legs, flights } = start(LONG);
		const { replica } = legs.answer;
		const before = replica.cacheBlocks;
		flights.answer.end(2, { inputTokens: 9_000, cachedTokens: 0, outputTokens: 9 });
		expect([replica.cacheBlocks, replica.reportsCachedTokens]).toEqual([before, false]);
	});
});
