/** What accounts use of the thread, as the connection guard reads it. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { OpenObjects } from "../../src/core/open-objects.ts";
import { BufferHold } from "../../src/core/process-counts.ts";
import { RunningRequests } from "../../src/core/running-requests.ts";
import { ThreadUse, threadUse } from "../../src/core/thread-use.ts";

beforeEach(() => void threadUse.take());
afterEach(() => void threadUse.take());

it("counts nothing before a guard has read it, and begins anew after each report", () => {
	const use = new ThreadUse();
	use.add("a", "run");
	expect(use.take()).toEqual({});
	use.add("a", "run", 2);
	use.add("b", "open");
	expect(use.take()).toEqual({ a: 2, b: 5 });
	expect(use.take()).toEqual({});
});

it("has at most 1,000 accounts in a report", () => {
	const use = new ThreadUse();
	use.take();
	for (let number = 0; number < 2_000; number++) use.add(`a${number}`, "run");
	use.add("a0", "run");
	const report = use.take();
	expect(Object.keys(report)).toHaveLength(1_000);
	expect(report.a0).toBe(2);
});

it("counts calls of objects, and those that open one", () => {
	let now = 0;
	const objects = new OpenObjects({ max: 10, now: () => now });
	objects.requireCall("GATEWAY/a/main", "a");
	objects.recordCall("GATEWAY/a/main", "a");
	objects.recordCall("GATEWAY/a/main", "a");
	expect(threadUse.take()).toEqual({ a: 6 });
	now = 12_000;
	objects.requireCall("GATEWAY/a/main", "a");
	objects.recordCall("GATEWAY/b/main", "b");
	expect(threadUse.take()).toEqual({ a: 5, b: 5.5 });
});

it("counts runs, also those that wait, and buffered bytes", async () => {
	const requests = new RunningRequests(1);
	const wait = async (): Promise<void> => {};
	const ended = Promise.withResolvers<void>();
	requests.begin("a", ended.promise, wait);
	const waiting = requests.begin("a", ended.promise, wait);
	const hold = new BufferHold("b");
	hold.grow(1024 * 1024);
	hold.tryGrow(512 * 1024);
	hold.release();
	expect(threadUse.take()).toEqual({ a: 2, b: 24 });
	ended.resolve();
	await waiting;
});
