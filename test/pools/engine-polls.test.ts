import { describe, expect, it } from "vitest";
import { EnginePolls } from "../../src/pools/engine-polls.ts";
import { Pool } from "../../src/pools/pool.ts";
import type { EngineLoad } from "../../src/pools/replica.ts";

const SHORT = { inputTokens: 100, blocks: [], blockTokens: 512, streamed: true };
const CREDENTIALS = { key: "k", headers: {} };

/** Engines with these loads, by address. An engine without a load cannot be reached. */
function polled(urls: string[], loads: Record<string, EngineLoad>) {
	const state = { now: 0, read: [] as string[] };
	const background: Promise<unknown>[] = [];
	const pool = new Pool(urls);
	const polls = new EnginePolls({
		now: () => state.now,
		waitUntil: (work) => background.push(work),
		async read({ url }, source) {
			state.read.push(source === undefined ? url : `${url} ${source}`);
			const load = loads[url];
			if (!load) throw new Error("not reachable");
			return { source: "metrics", load };
		},
	});
	/** A request at this time. Returns the polls that it started. */
	const at = async (now: number) => {
		state.now = now;
		state.read = [];
		polls.start(pool, 1_000, CREDENTIALS);
		await Promise.all(background.splice(0));
		return state.read;
	};
	const chosen = (now: number) => pool.choose(SHORT, now)?.replica.url;
	return { at, chosen, pool };
}

describe("polls of engines", () => {
	it("avoid a replica with the work of other callers, until the report is two intervals old", async () => {
		const { at, chosen, pool } = polled(["http://1", "http://2"], {
			"http://1": { running: 4, waiting: 4 },
			"http://2": { running: 0, waiting: 0 },
		});
		expect(await at(0)).toEqual(["http://1", "http://2"]);
		expect(chosen(1)).toBe("http://2");
		// 4 prompts of 1,024 tokens wait, and 4 requests with 1,280 tokens each are decoded.
		expect(pool.meanQueuedTokens).toBe((4 * 1_024 + Math.round(0.02 * 4 * 1_280)) / 2);
		expect(chosen(1_999)).toBe("http://2");
		pool.choose(SHORT, 2_000);
		expect(pool.meanQueuedTokens).toBe(0);
	});

	it("subtract the pool's own requests from what the engine reports", async () => {
		const { at, pool } = polled(["http://1"], { "http://1": { running: 1, waiting: 1 } });
		const send = () => {
			const choice = pool.choose(SHORT, 0);
			if (!choice) throw new Error("no replica");
			return pool.start(choice, SHORT, 0);
		};
		const flights = [send(), send()];
		await at(0);
		// 164 tokens of each prompt, including the cost of a request.
		expect(pool.meanQueuedTokens).toBe(2 * 164);
		for (const flight of flights) flight.end(1);
	});

	it("come once in an interval, and use the source that has worked", async () => {
		const { at } = polled(["http://1"], { "http://1": { running: 0, waiting: 0 } });
		await at(0);
		expect(await at(999)).toEqual([]);
		expect(await at(1_000)).toEqual(["http://1 metrics"]);
	});

	it("stop for a minute at an engine that cannot be reached", async () => {
		const { at } = polled(["http://1"], {});
		await at(0);
		expect(await at(59_999)).toEqual([]);
		expect(await at(60_999)).toEqual(["http://1"]);
	});

	it("take turns in a large pool", async () => {
		const urls = Array.from({ length: 80 }, (_, i) => `http://${i}`);
		const { at } = polled(urls, Object.fromEntries(urls.map((url) => [url, { running: 0, waiting: 0 }])));
		const rounds = [await at(0), await at(1_000), await at(2_000)];
		expect(rounds.map(({ length }) => length)).toEqual([32, 32, 32]);
		expect(new Set(rounds.flat().map((read) => read.split(" ")[0])).size).toBe(80);
	});

	it("are valid until the turn after the next in a large pool", async () => {
		const urls = Array.from({ length: 65 }, (_, i) => `http://${i}`);
		const { at, pool } = polled(
			urls,
			Object.fromEntries(urls.map((url) => [url, { running: 0, waiting: 1 }])),
		);
		await at(0);
		// 32 of 65 replicas in each of three rounds.
		pool.choose(SHORT, 5_999);
		expect(pool.meanQueuedTokens).toBe((32 * 1_024) / 65);
		pool.choose(SHORT, 6_000);
		expect(pool.meanQueuedTokens).toBe(0);
	});

	it("wait for an engine that has not answered, until the request that polls is considered lost", async () => {
		const asked: number[] = [];
		let now = 0;
		const polls = new EnginePolls({
			now: () => now,
			waitUntil: () => {},
			read: () => {
				asked.push(now);
				return new Promise(() => {});
			},
		});
		const pool = new Pool(["http://1"]);
		for (now of [0, 1_000, 9_999, 11_000, 20_999]) polls.start(pool, 1_000, CREDENTIALS);
		expect(asked).toEqual([0, 11_000]);
	});

	it("set the size of the cache that the engine reports", async () => {
		const { at, pool } = polled(["http://1"], {
			"http://1": { running: 0, waiting: 0, cacheTokens: 102_400 },
		});
		await at(0);
		expect(pool.members[0]?.cacheBlocks).toBe(200);
	});
});
