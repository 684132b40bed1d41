import { expect, it } from "vitest";
import { Pool } from "../../src/pools/pool.ts";
import { reportOf } from "../../src/pools/pool-report.ts";

const REQUEST = { inputTokens: 936, maxOutputTokens: 10, blocks: [], blockTokens: 512, streamed: true };

/** A pool with a request at each replica. */
function busy(...urls: string[]): Pool {
	const pool = new Pool(urls);
	for (const url of urls) {
		const choice = pool.choose(REQUEST, 0, (replica) => replica.url === url);
		if (choice) pool.start(choice, REQUEST, 0);
	}
	return pool;
}

it("adds the requests of all stages, and expects the time of the slowest", () => {
	// 1,000 tokens at 8 tokens per millisecond, and the mean prompt: 1,024 tokens before these requests of 1,000.
	expect(reportOf([busy("http://1"), new Pool(["http://2"])])).toEqual({
		active: ["http://1", "http://2"],
		draining: 0,
		requests: 1,
		prefillTokens: 1_000,
		decodeTokens: 0,
		expectedMs: (1_000 + 1_022.8) / 8,
	});
});

it("expects no time if a stage has no replica", () => {
	const report = reportOf([busy("http://1"), new Pool()]);
	expect(report).toMatchObject({ active: ["http://1"], requests: 1 });
	expect(report).not.toHaveProperty("expectedMs");
});

it("adds what engines report, without those that report nothing", () => {
	const pool = new Pool(["http://1", "http://2", "http://3"]);
	expect(reportOf([pool])).not.toHaveProperty("reported");
	pool.report("http://1", { running: 2, waiting: 3 }, { at: 0, validMs: 1_000 });
	pool.report("http://3", { running: 4, waiting: 5 }, { at: 0, validMs: 1_000 });
	expect(reportOf([pool]).reported).toEqual({ running: 6, waiting: 8 });
});
