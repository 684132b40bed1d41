import { expect, it } from "vitest";
import { WakeCalls } from "../../src/pools/wake-calls.ts";

it("calls the service once in a cooldown for each backend, whatever it answers", async () => {
	let time = 0;
	const posts: [string, object][] = [];
	const work: Promise<unknown>[] = [];
	const calls = new WakeCalls({
		now: () => time,
		waitUntil: (promise) => work.push(promise),
		post: async (url, body) => {
			posts.push([url, body]);
			throw new Error("unavailable");
		},
	});
	const settings = { url: "http://wake/", cooldownMs: 1_000, waitMs: 0 };
	for (const [at, backend] of [
		[0, "a"],
		[0, "b"],
		[999, "a"],
		[1_000, "a"],
	] as const) {
		time = at;
		calls.call(backend, settings);
	}
	await Promise.all(work);
	expect(posts).toEqual(["a", "b", "a"].map((backend) => ["http://wake/", { backend }]));
});
