import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";
import { createStorage } from "../../src/storage/create-storage.ts";

it("stores objects, and enqueues work once", async () => {
	const { storage } = configure({});
	const s = createStorage(
		{ blobs: env.BLOBS as never, queue: env.WORK_QUEUE as never, services: { fetch, wait: async () => {} } },
		storage,
	);
	const b = s.blobs("acme");
	await b.put("a/1", new TextEncoder().encode("hello"));
	expect(await new Response((await b.get("a/1"))?.body).text()).toBe("hello");
	const big = new Uint8Array(5_000_000).map((_, i) => i % 251);
	await b.put("a/2", new Response(big).body as ReadableStream<Uint8Array>);
	const got = await b.get("a/2", { offset: 1048570, length: 2000000 });
	expect(new Uint8Array(await new Response(got?.body).arrayBuffer())).toEqual(big.subarray(1048570, 3048570));
	expect((await b.list()).blobs.map(({ key }) => key)).toEqual(["a/1", "a/2"]);
	expect(await b.usage()).toEqual([{ store: "pieces", objects: 2, bytes: 5_000_005, refusedPuts: 0 }]);
	expect(await b.deletePrefix("a/")).toBe(2);
	expect(await s.queue.enqueue({ account: "acme", kind: "none", key: "k" })).toBe(1);
	expect(await s.queue.enqueue({ account: "acme", kind: "none", key: "k" })).toBe(0);
	await expect
		.poll(async () => (await s.queue.status({ account: "acme", kind: "none", key: "k" }))?.error)
		.toBe("Error");
});
