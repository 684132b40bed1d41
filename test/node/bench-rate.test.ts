import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { atRate } from "../../tools/bench/quiet-load.ts";

const paths: string[] = [];
/** Answers only when all requests of the test have arrived. */
const waiting: (() => void)[] = [];
const COUNT = 6;
const engine = createServer((request, response) => {
	paths.push(request.url ?? "");
	waiting.push(() => response.end("ok"));
	if (paths.length === COUNT) for (const answer of waiting) answer();
});
beforeAll(() => once(engine.listen(0, "127.0.0.1"), "listening"));
// Also before another try, whose requests would otherwise never have an answer.
beforeEach(() => {
	paths.length = 0;
	waiting.length = 0;
});
afterAll(() => void engine.close());

it("a low rate sends all its requests in turn, although none is answered", async () => {
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
	let now = 0;
	const waits: number[] = [];
	// Each wait ends 5 ms late.
	const wait = async (milliseconds: number) => {
		waits.push(milliseconds);
		now += milliseconds + 5;
	};
	const answers = await atRate(
		[
			{ url: `${url}/a`, body: "" },
			{ url: `${url}/b`, body: "" },
		],
		{ perSecond: 50, count: COUNT, clock: { now: () => now, wait } },
	);
	expect(answers).toHaveLength(COUNT);
	expect(paths.sort()).toEqual(["/a", "/a", "/a", "/b", "/b", "/b"]);
	// A distance is 20 ms. The next wait makes up for the delay of the one before. The last is the pause after the last request.
	expect(waits).toEqual([0, 15, 15, 15, 15, 15, 20]);
});
