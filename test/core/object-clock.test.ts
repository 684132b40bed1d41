/** A clock that is set back under open objects. A test cannot set the clock of the runtime, so it replaces the time of the object. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { withRepeatedCalls } from "../../src/config/repeated-calls.ts";
import { checkClocks, startsAgain } from "../../src/core/object-clock.ts";
import { callsOfPart } from "../../src/core/object-parts.ts";

const HOUR_MS = 3_600_000;
const wait = (milliseconds: number) => scheduler.wait(milliseconds);

afterEach(() => vi.restoreAllMocks());

/** The clock of each object is ahead until one has found it. */
function setBack(milliseconds: number): void {
	const now = performance.now.bind(performance);
	vi.spyOn(performance, "now").mockImplementationOnce(() => now() + milliseconds);
}

describe("the clock of an open object", () => {
	const bindings = withRepeatedCalls({ ...env }, wait);
	const newQueue = () => ({ name: crypto.randomUUID() });
	/** In an object that starts again, `mark` is absent. */
	const marked = async (name: string): Promise<unknown> =>
		runInDurableObject(env.WORK_QUEUE.getByName(name), (instance) => Reflect.get(instance, "mark"));
	const mark = (name: string) =>
		runInDurableObject(env.WORK_QUEUE.getByName(name), async (instance, { storage }) => {
			Object.assign(instance, { mark: true });
			await storage.setAlarm(Date.now() + HOUR_MS);
		});

	it("starts the object again if it is far ahead, and the caller does not notice", async () => {
		const { name } = newQueue();
		await mark(name);
		vi.spyOn(console, "error").mockImplementation(() => {});
		setBack(HOUR_MS);
		expect(await bindings.WORK_QUEUE.getByName(name).counts()).toEqual([]);
		expect(await marked(name)).toBeUndefined();
	});

	it("runs the alarm of an object that has started again at once", async () => {
		const { name } = newQueue();
		await mark(name);
		vi.spyOn(console, "error").mockImplementation(() => {});
		setBack(HOUR_MS);
		await bindings.WORK_QUEUE.getByName(name).counts();
		// An empty queue deletes its alarm.
		await expect
			.poll(() => runInDurableObject(env.WORK_QUEUE.getByName(name), (_, { storage }) => storage.getAlarm()))
			.toBeNull();
	});

	it("keeps an object whose clock is ahead for a moment", async () => {
		const { name } = newQueue();
		await mark(name);
		setBack(9_000);
		await bindings.WORK_QUEUE.getByName(name).counts();
		expect(await marked(name)).toBe(true);
	});

	it("makes a call of a part again", async () => {
		vi.spyOn(console, "error").mockImplementation(() => {});
		const aliases = callsOfPart(() => bindings.GATEWAYS.getByName(crypto.randomUUID()).aliases());
		setBack(HOUR_MS);
		expect(await aliases.list("default")).toEqual([]);
	});

	it("throws other failures, and ends after some repeats", async () => {
		let calls = 0;
		const failing = (message: string) =>
			withRepeatedCalls(
				{
					WORK_QUEUE: {
						getByName: () => ({
							async counts() {
								calls++;
								throw new Error(message);
							},
						}),
					},
				},
				async () => {},
			).WORK_QUEUE.getByName();
		await expect(failing("other").counts()).rejects.toThrow("other");
		expect(calls).toBe(1);
		const message = await refusal();
		await expect(failing(message).counts()).rejects.toThrow(message);
		expect(calls).toBe(12);
	});
});

/** What an object says that starts again. */
async function refusal(): Promise<string> {
	vi.spyOn(console, "error").mockImplementation(() => {});
	class Runtime {
		readonly ctx = { id: "1", storage: { sync: async () => {} }, abort() {} };
	}
	class Counted extends Runtime {
		count = 0;
		add(): void {
			this.count++;
		}
		twice(): void {
			this.add();
			this.add();
		}
	}
	let lead = 0;
	let checks = 0;
	checkClocks([Counted], () => {
		checks++;
		return lead;
	});
	const counted = new Counted();
	counted.twice();
	// The inner calls belong to the outer one.
	expect([counted.count, checks]).toEqual([2, 1]);
	lead = HOUR_MS;
	try {
		counted.add();
	} catch (thrown) {
		expect(startsAgain(thrown)).toBe(true);
		expect(counted.count).toBe(2);
		return String(thrown);
	}
	throw new Error("the object did not refuse the call");
}
