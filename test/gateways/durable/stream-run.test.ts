import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { StreamRuns } from "../../../src/gateways/client/stream-runs.ts";
import type { StreamRun } from "../../../src/gateways/durable/stream-run.ts";

const OWNER = { account: "team", gateway: "main" };
const bytes = (text: string) => new TextEncoder().encode(text);
const EVENTS = ["data: 1\n\n", ": a comment\n\n", "data: 3\ndata: more\n\n", "data: [DONE]\n\n"];

async function newRun() {
	const namespace = env.STREAM_RUN as DurableObjectNamespace<StreamRun>;
	const runs = new StreamRuns({
		namespace,
		object: (id) => namespace.get(id),
		registry: (account) => env.GATEWAYS.getByName(account),
		now: () => Date.now(),
	});
	const { id, calls } = runs.create(OWNER.account);
	await calls.begin({ ...OWNER, contentType: "text/event-stream" });
	return {
		id,
		calls,
		runs,
		stub: namespace.get(namespace.idFromString(id)),
		resume: async (from: number, owner = OWNER) => {
			const resumed = await runs.resume(id, from, owner);
			return resumed instanceof Response ? resumed.text() : resumed;
		},
		/** Makes the last write `ago` milliseconds old. */
		age: (ago: number) =>
			runInDurableObject(namespace.get(namespace.idFromString(id)), (_, { storage }) => {
				storage.sql.exec("UPDATE run SET written_at = written_at - ?", ago);
			}),
	};
}

async function endedRun() {
	const run = await newRun();
	await run.calls.append(bytes(EVENTS.slice(0, 2).join("")), 2);
	await run.calls.append(bytes(EVENTS.slice(2).join("")), 2);
	await run.calls.finish("ended");
	return run;
}

describe("StreamRun", () => {
	it("has an id of 64 hexadecimal digits", async () => {
		expect((await newRun()).id).toMatch(/^[0-9a-f]{64}$/);
	});

	it.each([0, 1, 2, 3, 4, 5, 99])("returns the events after the first %i", async (from) => {
		const { resume } = await endedRun();
		expect(await resume(from)).toBe(EVENTS.slice(from).join(""));
	});

	it("returns the bytes after the last complete event", async () => {
		const { calls, resume } = await newRun();
		await calls.append(bytes(EVENTS[0] ?? ""), 1);
		await calls.append(bytes("data: cut"), 0);
		await calls.finish("ended");
		expect(await resume(0)).toBe(`${EVENTS[0]}data: cut`);
		expect(await resume(1)).toBe("data: cut");
	});

	it("returns events that are larger than a row may be", async () => {
		const { calls, resume } = await newRun();
		const large = `data: ${"x".repeat(3_000_000)}\n\n`;
		await calls.append(bytes(`data: 1\n\n${large}data: 3\n\n`), 3);
		await calls.finish("ended");
		expect(await resume(1)).toBe(`${large}data: 3\n\n`);
		expect(await resume(2)).toBe("data: 3\n\n");
	});

	it("follows a stream that is under way", async () => {
		const { calls, id, runs } = await newRun();
		await calls.append(bytes("data: 1\n\n"), 1);
		const resumed = await runs.resume(id, 2, OWNER);
		if (!(resumed instanceof Response)) throw new Error("not resumed");
		const text = resumed.text();
		await calls.append(bytes("data: 2\n\ndata: 3\n\n"), 2);
		await calls.append(bytes("data: 4\n\n"), 1);
		await calls.finish("ended");
		expect(await text).toBe("data: 3\n\ndata: 4\n\n");
	});

	it("ends the reply with an error if the stream failed or was discarded", async () => {
		const failed = await newRun();
		await failed.calls.append(bytes("data: 1\n\n"), 1);
		await failed.calls.finish("failed");
		await expect(failed.resume(0)).rejects.toThrow("interrupted");
		const discarded = await newRun();
		const reader = discarded.resume(0);
		await discarded.calls.discard();
		await expect(reader).rejects.toThrow("interrupted");
		expect(await discarded.resume(0)).toBeUndefined();
	});

	it("is found by its owner only", async () => {
		const { resume } = await endedRun();
		expect(await resume(0, { account: "other", gateway: "main" })).toBeUndefined();
		expect(await resume(0, { account: "team", gateway: "other" })).toBeUndefined();
		expect(await resume(0)).toBe(EVENTS.join(""));
	});

	it("refuses ids of another form, and finds no other ids", async () => {
		const { id, runs } = await endedRun();
		for (const malformed of ["", "abc", id.toUpperCase(), `${id}0`])
			expect(await runs.resume(malformed, 0, OWNER)).toBe("malformed");
		expect(await runs.resume("0".repeat(64), 0, OWNER)).toBeUndefined();
		expect(await runs.resume(runs.create(OWNER.account).id, 0, OWNER)).toBeUndefined();
	});

	it("keeps the events for 330 seconds after the last one", async () => {
		const { age, resume, stub } = await endedRun();
		await age(300_000);
		expect(await resume(0)).toBe(EVENTS.join(""));
		// The events are not old enough, so the alarm only sets the next one.
		expect(await runDurableObjectAlarm(stub)).toBe(true);
		expect(await resume(0)).toBe(EVENTS.join(""));
		await age(30_000);
		expect(await resume(0)).toBeUndefined();
		expect(await runDurableObjectAlarm(stub)).toBe(true);
		await runInDurableObject(stub, (_, { storage }) => {
			expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'pieces'").toArray()).toEqual([]);
		});
		expect(await runDurableObjectAlarm(stub)).toBe(false);
	});
});
