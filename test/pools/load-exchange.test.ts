import { describe, expect, it } from "vitest";
import { LoadExchange } from "../../src/pools/load-exchange.ts";
import { Pool } from "../../src/pools/pool.ts";
import { type OtherLoads, SharedLoads } from "../../src/pools/shared-loads.ts";

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
			async exchange(_name, isolate, loads) {
				state.exchanges++;
				if (state.fails) throw new Error("not reachable");
				return structuredClone(object.exchange(isolate, loads, state.now));
			},
		});
		return {
			/** A request that starts an exchange if it is due, and goes to the best replica. */
			async send() {
				loadExchange.start("vllm", pool);
				await Promise.all(background.splice(0));
				const choice = pool.choose(PROMPT, state.now);
				if (!choice) throw new Error("no replica");
				return pool.start(choice, PROMPT, state.now);
			},
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

	it("is exchanged every half second, and every five seconds without another isolate", async () => {
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
		state.now = 5_499;
		await a?.send();
		expect(state.exchanges).toBe(3);
		state.now = 5_500;
		await a?.send();
		expect(state.exchanges).toBe(4);
	});

	it("forgets an isolate that has ended, and the others if the object cannot be called", async () => {
		const object = new SharedLoads();
		object.exchange("a", [{ url: "http://1", tokens: 700 }], 0);
		object.exchange(
			"b",
			[
				{ url: "http://1", tokens: 300 },
				{ url: "http://2", tokens: 50 },
			],
			1_000,
		);
		expect(object.exchange("c", [], 4_999)).toEqual({
			others: [
				{ url: "http://1", tokens: 1_000 },
				{ url: "http://2", tokens: 50 },
			],
			isolates: 3,
		});
		expect(object.exchange("c", [], 5_000)).toEqual({
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
	function alone(answer: () => Promise<OtherLoads>) {
		const state = { now: 0, exchanges: 0 };
		const pool = new Pool(URLS);
		const background: Promise<unknown>[] = [];
		const loadExchange = new LoadExchange({
			now: () => state.now,
			waitUntil: (work) => background.push(work),
			uuid: () => "isolate",
			exchange: async () => {
				state.exchanges++;
				return answer();
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
		[2, 500],
		[200, 500],
		[400, 1_000],
	])("is exchanged less often by many isolates: of %i after %i ms", async (count, pauseMs) => {
		const { at, state } = alone(async () => ({ others: [], isolates: count }));
		await at(0);
		await at(pauseMs - 1);
		expect(state.exchanges).toBe(1);
		await at(pauseMs);
		expect(state.exchanges).toBe(2);
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
});
