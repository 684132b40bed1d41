/** The queue of durable work. Handlers of the tests are in the object of the test; its alarms are those of the runtime. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { QueueClient } from "../../../src/storage/queue/queue-client.ts";
import { runWork } from "../../../src/storage/queue/run-work.ts";
import {
	PermanentWorkError,
	PostponedWork,
	type WorkHandler,
	type WorkRun,
} from "../../../src/storage/queue/work.ts";
import type { QueueBounds, QueueServices, WorkQueueObject } from "../../../src/storage/queue/work-queue.ts";
import type { RemoteCalls } from "../../../src/storage/remote-calls.ts";

const BOUNDS: QueueBounds = { accountItems: 1_000, concurrency: 8, accountConcurrency: 2 };

/** A queue of its own, with handlers by kind. */
async function newQueue(handlers: Record<string, WorkHandler>, bounds: Partial<QueueBounds> = {}) {
	const namespace = env.WORK_QUEUE as unknown as DurableObjectNamespace<WorkQueueObject>;
	const stub = namespace.getByName(crypto.randomUUID());
	const services: QueueServices = {
		bounds: { ...BOUNDS, ...bounds },
		run: (row, fence, control) => runWork(row, { fence, control, handler: async () => handlers[row.kind] }),
		isClosing: () => false,
		track: () => {},
	};
	await runInDurableObject(stub, (instance) => {
		Object.assign(instance, { services: () => services });
	});
	return {
		queue: new QueueClient(() => stub as unknown as RemoteCalls<WorkQueueObject>),
		/** Sets times of all items, so that a test does not wait for a retry. */
		startNow: () =>
			runInDurableObject(stub, async (instance, { storage }) => {
				storage.sql.exec("UPDATE items SET start_at = 0 WHERE state = 'queued'");
				await instance.refresh();
			}),
		rows: () =>
			runInDurableObject(stub, (_, { storage }) =>
				storage.sql.exec("SELECT count(*) AS items FROM items").one(),
			),
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
		await expect(full).rejects.toMatchObject({ key: "storageFull", status: 413 });
		expect((await queue.list({ account: "acme" })).items.map(({ key }) => key)).toEqual(["1", "2"]);
		const large = queue.enqueue({ ...id("5"), payload: "x".repeat(9_000) });
		await expect(large).rejects.toMatchObject({ key: "invalidRequest" });
		const page = await queue.list({ account: "acme", limit: 1 });
		expect(page).toMatchObject({ items: [{ key: "1" }], after: 1 });
		expect(
			(await queue.list({ account: "acme", ...(page.after !== undefined && { after: page.after }) })).items,
		).toMatchObject([{ key: "2" }]);
	});
});
