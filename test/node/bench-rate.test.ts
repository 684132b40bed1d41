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
	const begun = performance.now();
	const answers = await atRate(
		[
			{ url: `${url}/a`, body: "" },
			{ url: `${url}/b`, body: "" },
		],
		50,
		COUNT,
	);
	expect(answers).toHaveLength(COUNT);
	expect(paths.sort()).toEqual(["/a", "/a", "/a", "/b", "/b", "/b"]);
	// Five distances of 20 ms, and the pause after the last request.
	expect(performance.now() - begun).toBeGreaterThanOrEqual(119);
	expect(answers[0]?.totalMs).toBeGreaterThanOrEqual(99);
});
