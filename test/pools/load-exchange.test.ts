import { describe, expect, it } from "vitest";
import type { PoolRequest } from "../../src/pools/choice.ts";
import { LoadExchange, learnOthers, ownShare } from "../../src/pools/load-exchange.ts";
import { Pool } from "../../src/pools/pool.ts";
import { type Loads, type OthersShare, SharedLoads } from "../../src/pools/shared-loads.ts";

const URLS = ["http://1", "http://2"];
const PROMPT = { inputTokens: 936, blocks: [], blockTokens: 512, streamed: true };

/** Isolates that share one object and one clock. */
function isolates(count: number) {
	const state = { now: 0, exchanges: 0, fails: false };
	const object = new SharedLoads();
	const background: Promise<unknown>[] = [];
	const all = Array.from({ length: count }, (_, i) => {
		const pool = new Pool(URLS);
		const loadExchange = new LoadExchange({
			now: () => state.now,
			waitUntil: (work) => background.push(work),
			uuid: () => `isolate ${i}`,
			async exchange(_name, isolate, own) {
				state.exchanges++;
				if (state.fails) throw new Error("not reachable");
				return structuredClone(object.exchange(isolate, own, state.now));
			},
		});
		return {
			/** A request that starts an exchange if it is due, and goes to the best replica. */
			async send(request: PoolRequest = PROMPT) {
				loadExchange.start("vllm", pool);
				await Promise.all(background.splice(0));
				const choice = pool.choose(request, state.now);
				if (!choice) throw new Error("no replica");
				return pool.start(choice, request, state.now);
			},
			pool,
			queued: () => [...pool.replicas].map(({ queuedTokens }) => queuedTokens),
		};
	});
	return { all, state };
}

describe("loads that isolates share", () => {
	it("has the queued tokens of the other isolates, so that they avoid a busy replica", async () => {
		const { all, state } = isolates(2);
		const [a, b] = all;
		const first = await a?.send();
		expect(first?.replica.url).toBe("http://1");
		state.now = 5_000;
		await a?.send();
		const second = await b?.send();
		expect(b?.queued()).toEqual([1_000, 1_000]);
		expect(second?.replica.url).toBe("http://2");
	});

	it("are those of the replicas with requests, also of one with less than a token", () => {
		const pool = new Pool(URLS);
		const short = { ...PROMPT, inputTokens: 30, maxOutputTokens: 10 };
		const choice = pool.choose(short, 0);
		if (!choice) throw new Error("no replica");
		const flight = pool.start(choice, short, 0);
		expect(ownShare(pool, 7)).toMatchObject({ loads: [{ url: "http://1", tokens: 94 }], since: 7 });
		// 40 tokens that are generated count as 0.8 of a prompt.
		flight.firstToken(1);
		expect(ownShare(pool, 7).loads).toEqual([{ url: "http://1", tokens: 1 }]);
		flight.end(2);
		expect(ownShare(pool, 7).loads).toEqual([]);
	});

	it("is exchanged every tenth of a second, and every five seconds without another isolate", async () => {
		const { all, state } = isolates(2);
		const [a, b] = all;
		await a?.send();
		state.now = 4_999;
		await a?.send();
		expect(state.exchanges).toBe(1);
		await b?.send();
		state.now = 5_000;
		await a?.send();
		expect(state.exchanges).toBe(3);
		state.now = 5_099;
		await a?.send();
		expect(state.exchanges).toBe(3);
		state.now = 5_100;
		await a?.send();
		expect(state.exchanges).toBe(4);
	});

	it("forgets an isolate that has ended, and the others if the object cannot be called", async () => {
		const object = new SharedLoads();
		const share = (isolate: string, loads: Loads, now: number) => {
			const { isolates, others } = object.exchange(isolate, { loads, hints: [], since: 0 }, now);
			return { others, isolates };
		};
		share("a", [{ url: "http://1", tokens: 700 }], 0);
		share(
			"b",
			[
				{ url: "http://1", tokens: 300 },
				{ url: "http://2", tokens: 50 },
			],
			1_000,
		);
		expect(share("c", [], 4_999)).toEqual({
			others: [
				{ url: "http://1", tokens: 1_000 },
				{ url: "http://2", tokens: 50 },
			],
			isolates: 3,
		});
		expect(share("c", [], 5_000)).toEqual({
			others: [
				{ url: "http://1", tokens: 300 },
				{ url: "http://2", tokens: 50 },
			],
			isolates: 2,
		});
		const { all, state } = isolates(2);
		const [a, b] = all;
		(await a?.send())?.firstToken(0);
		await b?.send();
		state.now = 500;
		state.fails = true;
		await b?.send();
		state.now = 6_000;
		await b?.send();
		expect(b?.queued().every((tokens) => tokens <= 2_000)).toBe(true);
	});

	/** One isolate. `answer`: of the object. */
	function alone(answer: () => Promise<Pick<OthersShare, "others" | "isolates">>) {
		const state = { now: 0, exchanges: 0, since: [] as number[] };
		const pool = new Pool(URLS);
		const background: Promise<unknown>[] = [];
		const loadExchange = new LoadExchange({
			now: () => state.now,
			waitUntil: (work) => background.push(work),
			uuid: () => "isolate",
			exchange: async (_name, _isolate, { since }) => {
				state.exchanges++;
				state.since.push(since);
				return { ...(await answer()), hints: [], sequence: 7 };
			},
		});
		/** A request at this time. */
		const at = async (now: number) => {
			state.now = now;
			loadExchange.start("vllm", pool);
			await Promise.all(background.splice(0));
		};
		return { at, pool, state };
	}

	it.each([
		[1, 5_000],
		[2, 100],
		[40, 100],
		[400, 1_000],
	])("is exchanged less often by many isolates: of %i after %i ms", async (count, pauseMs) => {
		const { at, state } = alone(async () => ({ others: [], isolates: count }));
		await at(0);
		await at(pauseMs - 1);
		expect(state.exchanges).toBe(1);
		await at(pauseMs);
		expect(state.exchanges).toBe(2);
	});

	it("returns the hints since the latest exchange, and all at first", async () => {
		const { at, state } = alone(async () => ({ others: [], isolates: 2 }));
		await at(0);
		await at(100);
		expect(state.since).toEqual([0, 7]);
	});

	it("counts for five seconds if the object cannot be called, which is tried again after five", async () => {
		let fails = false;
		const { at, pool, state } = alone(async () => {
			if (fails) throw new Error("not reachable");
			return { others: [{ url: "http://1", tokens: 700 }], isolates: 2 };
		});
		await at(0);
		fails = true;
		await at(500);
		await at(5_000);
		expect([pool.meanQueuedTokens, state.exchanges]).toEqual([350, 2]);
		await at(5_001);
		expect(pool.meanQueuedTokens).toBe(0);
		await at(5_499);
		expect(state.exchanges).toBe(2);
		await at(5_500);
		expect(state.exchanges).toBe(3);
	});

	it("has hints about prompts, so that a conversation finds its replica from another isolate", async () => {
		const { all, state } = isolates(2);
		const [a, b] = all;
		const turn = (blocks: number[]): PoolRequest => ({
			inputTokens: blocks.length * 512 + 100,
			blocks,
			blockTokens: 512,
			streamed: true,
		});
		await b?.send();
		const first = await a?.send(turn([1, 2, 3]));
		const home = first?.replica.url;
		first?.end(1);
		// Exchanges of both: each gets what the other has shared before.
		state.now = 5_000;
		for (const one of [a, b]) (await one?.send(turn([])))?.end(5_001);
		const next = b?.pool.choose(turn([1, 2, 3, 4, 5]), 5_001);
		expect(next).toMatchObject({ replica: { url: home }, cachedTokens: 1_536 });
		expect(b?.pool.choose(turn([1, 9]), 5_001)?.cachedTokens).toBe(0);
		// As many new blocks as the cache of the replica has.
		const hinted = (block: number, newBlocks: number) => {
			const hint = { url: home ?? "", block, blocks: 1, newBlocks };
			if (b) learnOthers(b.pool, { others: [], hints: [hint], sequence: 0, isolates: 2 });
		};
		hinted(99, 1_001);
		expect(b?.pool.choose(turn([1, 2, 3, 4, 5]), 5_001)?.cachedTokens).toBe(0);
		hinted(7, 1);
		b?.pool.drain(home ?? "");
		expect(b?.pool.choose(turn([7]), 5_001)?.replica.url).not.toBe(home);
	});

	it("returns each hint once to each other isolate, and the newest if there are many", () => {
		const object = new SharedLoads();
		const hint = (block: number) => ({ url: "http://1", block, blocks: 1, newBlocks: 1 });
		const share = (isolate: string, blocks: number[], since: number) =>
			object.exchange(isolate, { loads: [], hints: blocks.map(hint), since }, 0);
		expect(share("a", [1, 2], 0)).toMatchObject({ hints: [], sequence: 2 });
		expect(share("b", [3], 0)).toMatchObject({ hints: [hint(1), hint(2)], sequence: 3 });
		expect(share("b", [], 3)).toMatchObject({ hints: [], sequence: 3 });
		expect(share("a", [], 2).hints).toEqual([hint(3)]);
		// The object has restarted since this exchange.
		expect(share("a", [], 70).hints).toEqual([hint(3)]);
		for (let i = 0; i < 20; i++)
			share(
				"a",
				Array.from({ length: 100 }, (_, k) => 1_000 + i * 100 + k),
				0,
			);
		const { hints } = share("b", [], 3);
		expect(hints).toHaveLength(500);
		expect(hints.at(-1)).toEqual(hint(2_999));
	});
});
