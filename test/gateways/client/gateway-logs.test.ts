import { describe, expect, it } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { GatewayLogs, type LogCalls } from "../../../src/gateways/client/gateway-logs.ts";
import type { LogBatch } from "../../../src/gateways/logs/log-batch.ts";
import { newLog } from "../logs/rows.ts";
import { droppedOf } from "./dropped.ts";

const KEEP = { max: 100, strategy: "DELETE_OLDEST" } as const;

/** A client whose calls of the object end when the test says so. `waits`: the waits after failures. */
function newClient({ pause = (leastMs: number) => leastMs } = {}) {
	const calls: { name: string; batch: LogBatch; end(result?: Error | number): void }[] = [];
	const work: Promise<unknown>[] = [];
	const waits: number[] = [];
	const failures: unknown[] = [];
	const object = (name: string) => ({
		append: (batch: LogBatch) => {
			const { promise, resolve, reject } = Promise.withResolvers<number>();
			calls.push({
				name,
				batch,
				end: (result = 0) => (result instanceof Error ? reject(result) : resolve(result)),
			});
			return promise;
		},
	});
	const client = new GatewayLogs({
		object: (name) => object(name) as unknown as LogCalls,
		now: () => 0,
		waitUntil: (promise) => void work.push(promise),
		wait: async (milliseconds) => void waits.push(milliseconds),
		failed: (cause) => failures.push(cause),
		maxPayload: 1_000,
		pause,
	});
	/** Runs the microtasks until `count` calls were made. */
	const callsMade = async (count: number) => {
		for (let i = 0; i < 100 && calls.length < count; i++) await Promise.resolve();
		expect(calls).toHaveLength(count);
	};
	/** Also the work that other work starts. */
	const settled = async (): Promise<void> => {
		for (const each of work) await each;
	};
	return { client, calls, callsMade, settled, waits, failures };
}

describe("an isolate's logs", () => {
	it("count as buffered bytes until they are sent, and lose their payloads if there are too many", async () => {
		const used = (): number => bufferedBytes.report().used;
		const before = used();
		const { client, calls, callsMade, settled } = newClient();
		const log = () => ({ ...newLog(), request: { text: "q".repeat(1_000), complete: true } });
		client.record("a/g", log(), KEEP);
		client.record("b/g", log(), KEEP);
		expect(used()).toBe(before + 2_000);
		await callsMade(2);
		for (const { end } of calls) end();
		await settled();
		expect(used()).toBe(before);
		bufferedBytes.limitTo(before + 1_500);
		try {
			for (let n = 0; n < 2; n++) client.record("a/g", log(), KEEP);
			expect(droppedOf(client, "contents")).toBe(1);
			expect(droppedOf(client, "log")).toBe(0);
		} finally {
			bufferedBytes.limitTo(64 * 1024 * 1024);
		}
		await callsMade(3);
		calls[2]?.end();
		await settled();
		expect(calls[2]?.batch.ids).toHaveLength(2);
		expect(used()).toBe(before);
	});

	it("are sent at once, and together if a call is under way", async () => {
		const { client, calls, callsMade, settled } = newClient();
		const [first, second, third] = [newLog(), newLog(), newLog()];
		client.record("a/g", first, KEEP);
		await callsMade(1);
		client.record("a/g", second, KEEP);
		client.record("a/g", third, KEEP);
		calls[0]?.end();
		await callsMade(2);
		const ids = [[first], [second, third]].map((logs) => logs.map(({ row }) => row.id));
		expect(calls.map(({ batch }) => batch.ids)).toEqual(ids);
		calls[1]?.end();
		await settled();
		client.record("a/g", newLog(), KEEP);
		await callsMade(3);
	});

	it("wait longer for further ones while the runtime is behind", async () => {
		const { client, calls, callsMade, settled, waits } = newClient({
			pause: (leastMs) => Math.max(leastMs, 300),
		});
		client.record("a/g", newLog(), KEEP);
		await callsMade(1);
		client.record("a/g", newLog(), KEEP);
		calls[0]?.end();
		await callsMade(2);
		for (let i = 0; i < 20; i++) client.record("a/g", newLog(), KEEP);
		calls[1]?.end();
		await callsMade(3);
		calls[2]?.end();
		await settled();
		expect(waits).toEqual([300, 300, 300, 300]);
		expect(calls[2]?.batch.ids).toHaveLength(20);
	});

	it("of several gateways do not wait for each other", async () => {
		const { client, calls, callsMade } = newClient();
		client.record("a/one", newLog(), KEEP);
		client.record("a/two", newLog(), KEEP);
		await callsMade(2);
		expect(calls.map(({ name }) => name)).toEqual(["a/one", "a/two"]);
	});

	it("are sent again after failures, then dropped and counted", async () => {
		const { client, calls, callsMade, settled, waits, failures } = newClient();
		const broken = new Error("the object is broken");
		client.record("a/g", newLog(), KEEP);
		for (let call = 1; call <= 4; call++) {
			await callsMade(call);
			calls[call - 1]?.end(broken);
		}
		await settled();
		expect(waits).toEqual([50, 400, 1_600, 6_400]);
		expect(failures).toEqual([broken]);
		expect(droppedOf(client, "log")).toBe(1);
		expect(new Set(calls.map(({ batch }) => batch.ids[0]))).toHaveLength(1);
		client.record("a/g", newLog(), KEEP);
		await callsMade(5);
	});

	it("go in calls of bounded size, without a wait between them", async () => {
		const { client, calls, callsMade, waits, settled } = newClient();
		const large = () => ({ ...newLog(), response: { text: "x".repeat(3 * 1024 * 1024), complete: true } });
		client.record("a/g", newLog(), KEEP);
		await callsMade(1);
		for (let i = 0; i < 3; i++) client.record("a/g", large(), KEEP);
		for (let i = 0; i < 550; i++) client.record("a/g", newLog(), KEEP);
		for (let call = 1; call <= 5; call++) {
			calls[call - 1]?.end();
			if (call < 5) await callsMade(call + 1);
		}
		expect(calls.map(({ batch }) => batch.ids.length)).toEqual([1, 1, 1, 500, 51]);
		await settled();
		// For the first row, for the rows that arrived during its call, and after a call with many rows.
		expect(waits).toEqual([50, 50, 200]);
	});

	it("go in calls of bounded size with large metadata, too", async () => {
		const { client, calls, callsMade } = newClient();
		const metadata = JSON.stringify({ note: "x".repeat(60_000) });
		client.record("a/g", newLog(), KEEP);
		await callsMade(1);
		// 120 KB each in a batch. 16 MiB have room for 139 of them.
		for (let i = 0; i < 500; i++) client.record("a/g", newLog({ metadata }), KEEP);
		expect(droppedOf(client, "log")).toBe(500 - 139);
		client.record("a/g", newLog(), KEEP);
		for (let call = 1; call <= 5; call++) {
			calls[call - 1]?.end();
			await callsMade(call + 1);
		}
		const sizes = calls.map(({ batch }) => [batch.ids.length, JSON.stringify(batch).length < 5_000_000]);
		expect(sizes).toEqual([1, 34, 34, 34, 34, 4].map((rows) => [rows, true]));
	});

	it("are bounded while the object does not answer", async () => {
		const { client, callsMade } = newClient();
		client.record("a/g", newLog(), KEEP);
		await callsMade(1);
		const log = newLog();
		for (let i = 0; i < 10_009; i++) client.record("a/g", log, KEEP);
		expect(droppedOf(client, "log")).toBe(10);
	});

	it("lose their payloads, and no row, if these are too large together or the bucket fails", async () => {
		const { client, calls, callsMade, failures } = newClient();
		const payload = { text: "x".repeat(9 * 1024 * 1024), complete: true };
		client.record("a/g", newLog(), KEEP);
		await callsMade(1);
		const [large, larger] = [newLog(), newLog()];
		client.record("a/g", { ...large, request: payload }, KEEP);
		client.record("a/g", { ...larger, request: payload, response: payload }, KEEP);
		expect([droppedOf(client, "log"), droppedOf(client, "contents")]).toEqual([0, 2]);
		calls[0]?.end();
		await callsMade(2);
		calls[1]?.end(3);
		await callsMade(3);
		const sent = calls
			.slice(1)
			.map(({ batch }) => [batch.ids, batch.large.map(({ log, part }) => [log, part])]);
		expect(sent).toEqual([
			[[large.row.id], [[large.row.id, "request"]]],
			[[larger.row.id], []],
		]);
		expect(droppedOf(client, "contents")).toBe(5);
		expect(failures).toEqual([new Error("The bucket did not store 3 payloads of logs")]);
	});
});
