import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ResponseCache, WriteCall } from "../../../src/gateways/durable/response-cache.ts";

const text = (body: Uint8Array | undefined) => body && new TextDecoder().decode(body);
const bytes = (content: string) => new TextEncoder().encode(content);

function cache() {
	const stub = env.RESPONSE_CACHE.getByName(crypto.randomUUID()) as DurableObjectStub<ResponseCache>;
	return {
		stub,
		read: async (key: string) => text((await stub.read(key)).answer?.body),
		write: (key: string, content: string | Uint8Array, call: Partial<WriteCall> = {}) =>
			stub.write({
				key,
				headers: { "content-type": "text/plain" },
				body: typeof content === "string" ? bytes(content) : content,
				ttlSeconds: 60,
				purges: 0,
				maxBytes: 100_000_000,
				...call,
			}),
		/** Sets when an answer was read last, `ago` milliseconds before now. */
		readAgo: (key: string, ago: number) =>
			runInDurableObject(stub, (_, { storage }) => {
				storage.sql.exec("UPDATE answers SET read_at = ? WHERE key = ?", Date.now() - ago, key);
			}),
		rows: () =>
			runInDurableObject(stub, (_, { storage }) =>
				storage.sql
					.exec<{ answers: number; pieces: number }>(
						"SELECT (SELECT count(*) FROM answers) AS answers, (SELECT count(*) FROM pieces) AS pieces",
					)
					.one(),
			),
	};
}

describe("ResponseCache", () => {
	it("returns the stored answer, and no other", async () => {
		const { stub, write, read } = cache();
		expect(await write("a", "first")).toBe(true);
		expect(await stub.read("a")).toMatchObject({
			answer: { headers: { "content-type": "text/plain" } },
			purges: 0,
		});
		expect(await read("a")).toBe("first");
		expect(await read("b")).toBeUndefined();
		await write("a", "second");
		expect(await read("a")).toBe("second");
	});

	it("stores an answer that is larger than a row may be", async () => {
		const { stub, write, rows } = cache();
		const body = new Uint8Array(5 * 1024 * 1024 + 7).map((_, index) => index % 251);
		await write("a", body);
		const { answer } = await stub.read("a");
		expect(answer?.body.length).toBe(5_242_887);
		expect(answer?.body.every((byte, index) => byte === index % 251)).toBe(true);
		expect(await rows()).toEqual({ answers: 1, pieces: 6 });
		await write("a", "short");
		expect(await rows()).toEqual({ answers: 1, pieces: 1 });
	});

	it("does not return an expired answer, and deletes it by its alarm", async () => {
		const { stub, write, read, rows } = cache();
		await write("a", "first", { ttlSeconds: 0 });
		await write("b", "second", { ttlSeconds: 0 });
		expect(await read("b")).toBeUndefined();
		// The second write deletes the first answer.
		expect(await rows()).toEqual({ answers: 1, pieces: 1 });
		expect(await runDurableObjectAlarm(stub)).toBe(true);
		expect(await rows()).toEqual({ answers: 0, pieces: 0 });
		expect(await runDurableObjectAlarm(stub)).toBe(false);
	});

	it("deletes the answers that were read least recently when it needs their space", async () => {
		const { write, read, readAgo } = cache();
		// Each answer counts 512 bytes for its row.
		const maxBytes = 3 * (100 + 512);
		for (const key of ["a", "b", "c"]) await write(key, key.repeat(100), { maxBytes });
		await readAgo("a", 300_000);
		await readAgo("b", 200_000);
		await readAgo("c", 100_000);
		// This read makes "a" the most recent.
		expect(await read("a")).toBe("a".repeat(100));
		await write("d", "d".repeat(100), { maxBytes });
		expect([await read("a"), await read("b"), await read("c"), await read("d")]).toEqual([
			"a".repeat(100),
			undefined,
			"c".repeat(100),
			"d".repeat(100),
		]);
		expect(await write("e", "e".repeat(maxBytes), { maxBytes })).toBe(false);
		expect(await read("d")).toBe("d".repeat(100));
	});

	it("knows its size after a restart", async () => {
		const { stub, write, readAgo } = cache();
		const maxBytes = 2 * (100 + 512);
		await write("a", "a".repeat(100), { maxBytes });
		await write("b", "b".repeat(100), { maxBytes });
		await readAgo("a", 300_000);
		await runInDurableObject(stub, (_, state) => state.abort("restart")).catch(() => {});
		const again = env.RESPONSE_CACHE.get(stub.id) as DurableObjectStub<ResponseCache>;
		const answer = { headers: {}, body: bytes("c".repeat(100)), ttlSeconds: 60, purges: 0, maxBytes };
		await again.write({ key: "c", ...answer });
		expect(await again.read("a")).toEqual({ purges: 0 });
		expect(text((await again.read("b")).answer?.body)).toBe("b".repeat(100));
	});

	it("forgets all answers in a purge, and ignores answers of requests that started before", async () => {
		const { stub, write, read, rows } = cache();
		await write("a", "first");
		await write("b", "second");
		expect(await stub.purge()).toBe(2);
		expect(await rows()).toEqual({ answers: 0, pieces: 0 });
		expect(await write("c", "stale", { purges: 0 })).toBe(false);
		const { purges } = await stub.read("c");
		expect(purges).toBe(1);
		expect(await write("c", "fresh", { purges })).toBe(true);
		expect(await read("c")).toBe("fresh");
	});
});
