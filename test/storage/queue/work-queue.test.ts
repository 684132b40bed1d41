/** The queue of durable work. Handlers of the tests are in the object of the test; its alarms are those of the runtime. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { QueueClient } from "../../../src/storage/queue/queue-client.ts";
import { runWork } from "../../../src/storage/queue/run-work.ts";
import {
	PermanentWorkError,
	PostponedWork,
	type WorkHandler,
	type WorkRun,
} from "../../../src/storage/queue/work.ts";
import type {
	QueueBounds,
	WorkQueueObject,
	WorkQueueServices,
} from "../../../src/storage/queue/work-queue.ts";
import type { RemoteCalls } from "../../../src/storage/remote-calls.ts";

const BOUNDS: QueueBounds = { accountItems: 1_000, concurrency: 8, accountConcurrency: 2 };

/** Gives the class its own services again: the files of a Worker share it. */
let restoreServices: (() => void) | undefined;
afterEach(() => {
	restoreServices?.();
	restoreServices = undefined;
});

/** For all objects of the class until the test ends, because an object that starts again has none of its own. */
function replaceServices(instance: WorkQueueObject, services: WorkQueueServices): void {
	const shared = Object.getPrototypeOf(instance);
	const { services: own } = shared;
	restoreServices ??= () => void Object.assign(shared, { services: own });
	Object.assign(shared, { services: () => services });
}

/** A queue of its own, with handlers by kind. */
async function newQueue(
	handlers: Record<string, WorkHandler>,
	bounds: Partial<QueueBounds> = {},
	isYielding = () => false,
) {
	const namespace = env.WORK_QUEUE as unknown as DurableObjectNamespace<WorkQueueObject>;
	const name = crypto.randomUUID();
	// The stub of an object that has ended is broken.
	const stubOf = () => namespace.getByName(name);
	const services: WorkQueueServices = {
		bounds: { ...BOUNDS, ...bounds },
		run: (row, fence, control) => runWork(row, { fence, control, handler: async () => handlers[row.kind] }),
		isClosing: () => false,
		isYielding,
		track: () => {},
	};
	await runInDurableObject(stubOf(), (instance) => {
		Object.assign(instance, { services: () => services });
	});
	return {
		queue: new QueueClient(() => stubOf() as unknown as RemoteCalls<WorkQueueObject>),
		/** Sets times of all items, so that a test does not wait for a retry. */
		startNow: () =>
			runInDurableObject(stubOf(), async (instance, { storage }) => {
				storage.sql.exec("UPDATE items SET start_at = 0 WHERE state = 'queued'");
				await instance.refresh();
			}),
		ring: () => runDurableObjectAlarm(stubOf()),
		/** As if its process had been killed. The next object has the same handlers. */
		end: async () => {
			await runInDurableObject(stubOf(), (instance) => replaceServices(instance, services));
			await runInDurableObject(stubOf(), (_, context) => context.abort("killed")).catch(() => {});
		},
	};
}

const id = (key: string, account = "acme", kind = "line") => ({ account, kind, key });
/** Runs wait until the test opens their key. They look for it themselves, because a test cannot resolve a promise of another object. */
function gates() {
	const opened = new Set<string>();
	return {
		async wait(key: string) {
			while (!opened.has(key)) await scheduler.wait(1);
		},
		open: (key: string) => void opened.add(key),
	};
}

describe("the queue", () => {
	it("runs each item once, with its payload, and forgets it", async () => {
		const runs: Pick<WorkRun, "key" | "payload" | "attempt">[] = [];
		const run = async ({ key, payload, attempt }: WorkRun) => void runs.push({ key, payload, attempt });
		const { queue } = await newQueue({ line: { run } });
		expect(await queue.enqueue([{ ...id("1"), payload: { n: 1 } }, id("2")])).toBe(2);
		await expect.poll(() => queue.status(id("2"))).toBeUndefined();
		expect(runs).toEqual([
			{ key: "1", payload: { n: 1 }, attempt: 1 },
			{ key: "2", payload: undefined, attempt: 1 },
		]);
		expect((await queue.list({ account: "acme" })).items).toEqual([]);
	});

	it("keeps the first of two items with one key, also while it runs", async () => {
		const { wait, open } = gates();
		const payloads: unknown[] = [];
		const { queue } = await newQueue({
			line: {
				async run({ key, payload }) {
					payloads.push(payload);
					await wait(key);
				},
			},
		});
		await queue.enqueue({ ...id("1"), payload: "first" });
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("running");
		expect(await queue.enqueue([{ ...id("1"), payload: "second" }, id("1", "umbrella")])).toBe(1);
		open("1");
		await expect.poll(() => queue.status(id("1"))).toBeUndefined();
		expect(payloads).toEqual(["first", undefined]);
	});

	it("gives each account its share, and no account more than its bound", async () => {
		const { wait, open } = gates();
		const started: string[] = [];
		const { queue } = await newQueue(
			{
				line: {
					async run({ account, key }) {
						started.push(`${account} ${key}`);
						await wait(key);
					},
				},
			},
			{ concurrency: 3 },
		);
		const keys = Array.from({ length: 20 }, (_, index) => String(index));
		await queue.enqueue(keys.map((key) => id(key)));
		await expect.poll(() => started).toEqual(["acme 0", "acme 1"]);
		await queue.enqueue([id("u0", "umbrella"), id("u1", "umbrella")]);
		await expect.poll(() => started).toEqual(["acme 0", "acme 1", "umbrella u0"]);
		open("0");
		await expect.poll(() => started.slice(3)).toEqual(["acme 2"]);
		open("1");
		await expect.poll(() => started.slice(4)).toEqual(["umbrella u1"]);
		for (const key of ["u0", "u1", ...keys]) open(key);
		await expect.poll(() => started).toHaveLength(22);
	});

	it("runs one item of an account while live requests wait for the process", async () => {
		const { wait, open } = gates();
		const started: string[] = [];
		const run = async ({ key }: WorkRun): Promise<void> => {
			started.push(key);
			await wait(key);
		};
		let isYielding = true;
		const { queue } = await newQueue({ line: { run } }, {}, () => isYielding);
		await queue.enqueue([id("0"), id("1"), id("u0", "umbrella"), id("u1", "umbrella")]);
		await expect.poll(() => started).toEqual(["0", "u0"]);
		open("0");
		await expect.poll(() => started).toEqual(["0", "u0", "1"]);
		isYielding = false;
		await expect.poll(() => started, { timeout: 5_000 }).toEqual(["0", "u0", "1", "u1"]);
		for (const key of ["1", "u0", "u1"]) open(key);
	});

	it("does not let one kind delay another of the same account", async () => {
		const { wait, open } = gates();
		const started: string[] = [];
		const handler: WorkHandler = {
			async run({ kind, key }) {
				started.push(`${kind} ${key}`);
				await wait(key);
			},
		};
		const { queue } = await newQueue({ line: handler, response: handler });
		await queue.enqueue(["0", "1", "2", "3"].map((key) => id(key)));
		await expect.poll(() => started).toEqual(["line 0", "line 1"]);
		await queue.enqueue(id("r", "acme", "response"));
		open("0");
		await expect.poll(() => started.slice(2)).toEqual(["response r"]);
		for (const key of ["1", "2", "3", "r"]) open(key);
		await expect.poll(() => started).toHaveLength(5);
	});

	it("cancels an item that waits, and one that runs by its signal", async () => {
		const ended: string[] = [];
		const { queue } = await newQueue(
			{
				line: {
					async run({ key, signal }) {
						await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
						ended.push(key);
						throw new Error("cancelled");
					},
				},
			},
			{ accountConcurrency: 1 },
		);
		await queue.enqueue([id("1"), id("2"), id("3")]);
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("running");
		expect(await queue.cancel(id("2"))).toBe("queued");
		expect(await queue.status(id("2"))).toBeUndefined();
		expect(await queue.cancel(id("1"))).toBe("running");
		await expect.poll(() => queue.status(id("1"))).toBeUndefined();
		expect(ended).toEqual(["1"]);
		await expect.poll(async () => (await queue.status(id("3")))?.state).toBe("running");
		expect(await queue.cancelPrefix({ account: "acme", kind: "line", prefix: "" })).toBe(1);
		await expect.poll(async () => (await queue.list({ account: "acme" })).items).toEqual([]);
		expect(await queue.cancel(id("4"))).toBeUndefined();
	});

	it("repeats a failed run later, with a larger fence, until its attempts are used up; then it is dead", async () => {
		const fences: number[] = [];
		const failures: string[] = [];
		const { queue, startNow } = await newQueue({
			line: {
				maxAttempts: 3,
				async run({ fence, attempt }) {
					fences.push(fence);
					throw attempt === 3 ? new AiError("outOfCapacity") : new TypeError("the prompt was: secret");
				},
				failed: async (_, error) => void failures.push(error),
			},
		});
		await queue.enqueue(id("1"));
		await expect.poll(async () => (await queue.status(id("1")))?.attempts).toBe(1);
		const { startAt, createdAt, ...status } = (await queue.status(id("1"))) ?? { startAt: 0, createdAt: 0 };
		expect(status).toEqual({
			...id("1"),
			state: "queued",
			attempts: 1,
			interruptions: 0,
			error: "TypeError",
		});
		expect(startAt - createdAt).toBeGreaterThanOrEqual(1_000);
		await startNow();
		await expect.poll(async () => (await queue.status(id("1")))?.attempts).toBe(2);
		await startNow();
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("dead");
		expect(failures).toEqual(["3040: Capacity temporarily exceeded, please try again."]);
		expect(fences).toEqual(fences.toSorted((a, b) => a - b));
		expect(new Set(fences).size).toBe(3);
		expect((await queue.list({ account: "acme", state: "dead" })).items).toHaveLength(1);
		expect(await queue.revive(id("1"))).toBe(true);
		await expect.poll(async () => (await queue.status(id("1")))?.attempts).toBe(1);
		expect(await queue.revive(id("1"))).toBe(false);
	});

	it("does not repeat what cannot succeed, and calls `failed` until it succeeds", async () => {
		let calls = 0;
		const { queue, startNow } = await newQueue({
			line: {
				run: async () => Promise.reject(new PermanentWorkError("The file does not exist")),
				async failed() {
					if (++calls === 1) throw new Error("the object is unreachable");
				},
			},
		});
		await queue.enqueue(id("1"));
		await expect.poll(() => calls).toBe(1);
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("queued");
		await startNow();
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("dead");
		expect(await queue.status(id("1"))).toMatchObject({ attempts: 1, error: "The file does not exist" });
		expect(calls).toBe(2);
	});

	it("postpones an item without counting an attempt, and starts none before its time", async () => {
		let runs = 0;
		const { queue, startNow } = await newQueue({
			line: {
				async run() {
					if (++runs === 1) throw new PostponedWork(300_000);
				},
			},
		});
		const startAt = Date.now() + 3_600_000;
		await queue.enqueue([{ ...id("later"), startAt }, id("1")]);
		await expect.poll(() => runs).toBe(1);
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("queued");
		expect(await queue.status(id("1"))).toMatchObject({ attempts: 0 });
		expect(await queue.status(id("later"))).toMatchObject({ state: "queued", startAt });
		await startNow();
		await expect.poll(() => runs).toBe(3);
	});

	it("shows the progress of a run", async () => {
		const { wait, open } = gates();
		const { queue } = await newQueue({
			line: {
				async run({ key, progress }) {
					progress({ done: 1, total: 3 });
					await wait(key);
				},
			},
		});
		await queue.enqueue(id("1"));
		await expect.poll(async () => (await queue.status(id("1")))?.progress).toEqual({ done: 1, total: 3 });
		open("1");
		await expect.poll(() => queue.status(id("1"))).toBeUndefined();
	});

	it("ends a run that takes too long", async () => {
		let reason: unknown;
		const { queue } = await newQueue({
			line: {
				timeoutMs: 20,
				maxAttempts: 1,
				run: ({ signal }) =>
					new Promise((_, reject) =>
						signal.addEventListener("abort", () => {
							reason = signal.reason;
							reject(signal.reason);
						}),
					),
			},
		});
		await queue.enqueue(id("1"));
		await expect.poll(async () => (await queue.status(id("1")))?.state).toBe("dead");
		expect(String(reason)).toContain("longer than 20 ms");
	});

	it("refuses items above the account's bound, all or none, and items that are too large", async () => {
		const { queue } = await newQueue({}, { accountItems: 3 });
		const later = { startAt: Date.now() + 3_600_000 };
		await queue.enqueue([
			{ ...id("1"), ...later },
			{ ...id("2"), ...later },
		]);
		const full = queue.enqueue([
			{ ...id("3"), ...later },
			{ ...id("4"), ...later },
		]);
		await expect(full).rejects.toMatchObject({ key: "storageFull", status: 413, retryAfter: 60 });
		expect((await queue.list({ account: "acme" })).items.map(({ key }) => key)).toEqual(["1", "2"]);
		const large = queue.enqueue({ ...id("5"), payload: "x".repeat(9_000) });
		await expect(large).rejects.toMatchObject({ key: "invalidRequest" });
		const page = await queue.list({ account: "acme", limit: 1 });
		expect(page).toMatchObject({ items: [{ key: "1" }], after: 1 });
		expect(
			(await queue.list({ account: "acme", ...(page.after !== undefined && { after: page.after }) })).items,
		).toMatchObject([{ key: "2" }]);
	});

	it("does not let an item that always fails delay the others, and shows it as dead", async () => {
		const done: string[] = [];
		const { queue, startNow } = await newQueue(
			{
				line: {
					maxAttempts: 3,
					async run({ key }) {
						if (key === "poison") throw new FormatError();
						done.push(key);
					},
				},
			},
			{ accountConcurrency: 1 },
		);
		const keys = Array.from({ length: 20 }, (_, index) => String(index));
		await queue.enqueue([id("poison"), ...keys.map((key) => id(key))]);
		await expect.poll(() => done).toEqual(keys);
		for (let attempts = 1; attempts < 3; attempts++) {
			await expect.poll(async () => (await queue.status(id("poison")))?.attempts).toBe(attempts);
			await startNow();
		}
		await expect.poll(async () => (await queue.status(id("poison")))?.state).toBe("dead");
		expect(await queue.counts()).toMatchObject([{ account: "acme", kind: "line", state: "dead", items: 1 }]);
		expect((await queue.list({ account: "acme", state: "dead" })).items).toMatchObject([
			{ key: "poison", attempts: 3, error: "FormatError" },
		]);
		// A dead item counts, and its key stays taken.
		expect(await queue.enqueue(id("poison"))).toBe(0);
		expect(await queue.cancel(id("poison"))).toBe("dead");
		expect(await queue.enqueue(id("poison"))).toBe(1);
	});
});

class FormatError extends Error {
	override readonly name = "FormatError";
}

describe("a clock that is set", () => {
	afterEach(() => void vi.useRealTimers());
	const setClock = (milliseconds: number) =>
		vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + milliseconds, shouldAdvanceTime: true });

	it("back does not delay items that wait for others, nor retries", async () => {
		const { wait, open } = gates();
		const runs: string[] = [];
		const { queue } = await newQueue(
			{
				line: {
					async run({ key, attempt }) {
						runs.push(`${key} ${attempt}`);
						if (key === "retry" && attempt === 1) throw new Error("once");
						await wait(key);
					},
				},
			},
			{ accountConcurrency: 1 },
		);
		open("retry");
		open("next");
		await queue.enqueue([id("retry"), id("first"), id("next")]);
		await expect.poll(() => runs).toEqual(["retry 1", "first 1"]);
		setClock(-86_400_000);
		open("first");
		await expect.poll(() => [...runs].sort()).toEqual(["first 1", "next 1", "retry 1", "retry 2"]);
		await expect.poll(async () => (await queue.list({ account: "acme" })).items).toEqual([]);
	});

	it("forward runs what waits, and keeps an item that is later", async () => {
		const runs: string[] = [];
		const { queue, ring } = await newQueue({ line: { run: async ({ key }) => void runs.push(key) } });
		const now = Date.now();
		await queue.enqueue([
			{ ...id("hour"), startAt: now + 3_600_000 },
			{ ...id("month"), startAt: now + 30 * 86_400_000 },
		]);
		setClock(86_400_000);
		await queue.enqueue(id("now"));
		// The runtime's timer does not have this clock.
		await ring();
		await expect.poll(() => [...runs].sort()).toEqual(["hour", "now"]);
		expect((await queue.list({ account: "acme" })).items.map(({ key }) => key)).toEqual(["month"]);
	});
});

describe("a queue whose object ends at any time", () => {
	it.each([1, 2, 3, 4])(
		"runs each item to its end once, with failures and duplicates (seed %d)",
		async (seed) => {
			let state = seed * 2_654_435_761;
			/** https://en.wikipedia.org/wiki/Xorshift */
			const random = (below: number): number => {
				state ^= state << 13;
				state ^= state >>> 17;
				state ^= state << 5;
				return (state >>> 0) % below;
			};
			/** The room of the results: the fence of each, and the largest one that it has seen. */
			const results = new Map<string, number>();
			const seen = new Map<string, number>();
			const oldFences: string[] = [];
			const handler: WorkHandler = {
				maxAttempts: 50,
				async run({ key, fence }) {
					if (fence <= (seen.get(key) ?? 0)) oldFences.push(key);
					seen.set(key, fence);
					await scheduler.wait(random(4));
					if (random(5) === 0) throw new Error("at random");
					// Another run may have begun: the object has ended meanwhile. Or the item was added again.
					if (seen.get(key) !== fence || results.has(key)) return;
					results.set(key, fence);
				},
			};
			const { queue, startNow, end } = await newQueue({ line: handler }, { accountConcurrency: 4 });
			const keys = Array.from({ length: 30 }, (_, index) => String(index));
			for (const key of keys) {
				// A duplicate of an item that has ended runs again, and the room refuses its result.
				await queue.enqueue([id(key), id(String(random(Number(key) + 1)))]);
				if (random(6) === 0) await end();
				if (random(3) === 0) await startNow();
			}
			await expect
				.poll(
					async () => {
						await startNow();
						return (await queue.list({ account: "acme" })).items.length;
					},
					{ timeout: 20_000 },
				)
				.toBe(0);
			expect([...results.keys()].sort()).toEqual([...keys].sort());
			expect(oldFences).toEqual([]);
		},
	);
});
