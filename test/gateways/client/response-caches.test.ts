import { describe, expect, it } from "vitest";
import { ResponseCaches } from "../../../src/gateways/client/response-caches.ts";
import type { ReadResult, WriteCall } from "../../../src/gateways/durable/response-cache.ts";

const bytes = (content: string) => new Uint8Array(new TextEncoder().encode(content));
const text = (body: Uint8Array | undefined) => body && new TextDecoder().decode(body);
const WRITE = { ttlSeconds: 60, purges: 0, maxBytes: 1_000 };

/** A fake of the objects, by name. */
function caches() {
	let now = 1_000_000;
	const failures: unknown[] = [];
	const calls: string[] = [];
	const stored = new Map<string, WriteCall>();
	let broken = false;
	const object = (name: string) => ({
		read: async (key: string): Promise<ReadResult> => {
			calls.push(`${name} ${key}`);
			if (broken) throw new Error("object broken");
			const found = stored.get(`${name} ${key}`);
			if (!found) return { purges: 0 };
			const body = new Uint8Array(found.body);
			return { purges: 0, answer: { headers: found.headers, body, expiresAt: 1_000_000 + 60_000 } };
		},
		write: async (call: WriteCall) => {
			if (broken) throw new Error("object broken");
			stored.set(`${name} ${call.key}`, call);
			return true;
		},
		purge: async () => {
			if (broken) throw new Error("object broken");
			const { size } = stored;
			stored.clear();
			return size;
		},
	});
	const isolate = () =>
		new ResponseCaches({
			object: object as never,
			now: () => now,
			failed: (cause) => failures.push(cause),
		});
	return {
		isolate,
		calls,
		failures,
		breakObject: () => {
			broken = true;
		},
		passTime: (ms: number) => {
			now += ms;
		},
	};
}

describe("ResponseCaches", () => {
	it("reads an answer from its copy for one second", async () => {
		const { isolate, calls, passTime } = caches();
		const cache = isolate().of("team", "main");
		await cache.write("k", { headers: {}, body: bytes("Hi") }, WRITE);
		const read = async () => text((await cache.read("k"))?.answer?.body);
		expect(await read()).toBe("Hi");
		passTime(999);
		expect(await read()).toBe("Hi");
		expect(calls).toEqual(["team/main k"]);
		passTime(1);
		expect(await read()).toBe("Hi");
		expect(calls).toEqual(["team/main k", "team/main k"]);
	});

	it("does not return a copy that has expired", async () => {
		const { isolate, calls, passTime } = caches();
		const cache = isolate().of("team", "main");
		await cache.write("k", { headers: {}, body: bytes("Hi") }, WRITE);
		passTime(58_000);
		await cache.read("k");
		passTime(2_000);
		await cache.read("k");
		expect(calls).toHaveLength(2);
	});

	it("separates accounts and gateways", async () => {
		const { isolate } = caches();
		const all = isolate();
		await all.of("team", "main").write("k", { headers: {}, body: bytes("Hi") }, WRITE);
		expect(await all.of("team", "main").read("k")).toMatchObject({ answer: {} });
		for (const [account, gateway] of [
			["team", "other"],
			["other", "main"],
		] as const)
			expect(await all.of(account, gateway).read("k")).toEqual({ purges: 0 });
	});

	it("purges the copies of this isolate at once, and those of others within five seconds", async () => {
		const { isolate, passTime } = caches();
		const [here, elsewhere] = [isolate(), isolate()];
		await here.of("team", "main").write("k", { headers: {}, body: bytes("Hi") }, WRITE);
		for (const one of [here, elsewhere]) await one.of("team", "main").read("k");
		expect(await here.purge("team", "main")).toBe(1);
		expect(await here.of("team", "main").read("k")).toEqual({ purges: 0 });
		expect(await elsewhere.of("team", "main").read("k")).toMatchObject({ answer: {} });
		passTime(1_000);
		expect(await elsewhere.of("team", "main").read("k")).toEqual({ purges: 0 });
	});

	it("keeps no copy of a large answer", async () => {
		const { isolate, calls } = caches();
		const cache = isolate().of("team", "main");
		await cache.write("k", { headers: {}, body: new Uint8Array(300_000) }, WRITE);
		await cache.read("k");
		await cache.read("k");
		expect(calls).toHaveLength(2);
	});

	it("keeps the copies that were read last, up to 32 MiB with their texts", async () => {
		const { isolate, calls } = caches();
		const cache = isolate().of("team", "main");
		// 80 copies of 400,512 bytes with their texts are in the limit, and 84 are not.
		for (let nth = 0; nth < 84; nth++) {
			await cache.write(`k${nth}`, { headers: {}, body: new Uint8Array(200_000) }, WRITE);
			await cache.read(`k${nth}`);
			await cache.read("k0");
		}
		calls.length = 0;
		await cache.read("k0");
		await cache.read("k83");
		expect(calls).toEqual([]);
		await cache.read("k1");
		expect(calls).toEqual(["team/main k1"]);
	});

	it("counts and reports a broken object, and does not throw", async () => {
		const { isolate, breakObject, failures } = caches();
		breakObject();
		const all = isolate();
		const cache = all.of("team", "main");
		expect(await cache.read("k")).toBeUndefined();
		await cache.write("k", { headers: {}, body: bytes("Hi") }, WRITE);
		expect(all.failures).toBe(2);
		expect(failures).toEqual([new Error("object broken"), new Error("object broken")]);
		await expect(all.purge("team", "main")).rejects.toThrow("object broken");
	});
});
