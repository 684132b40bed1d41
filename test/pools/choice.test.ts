/** The bounds of the policies. */
import { expect, it } from "vitest";
import { holders } from "../../src/pools/adapter-holders.ts";
import type { PoolRequest } from "../../src/pools/choice.ts";
import { Pool, type PoolOptions } from "../../src/pools/pool.ts";

const SESSION = "account s";
const request = (inputTokens: number, fields: Partial<PoolRequest> = {}): PoolRequest => ({
	inputTokens,
	blocks: [],
	blockTokens: 512,
	streamed: true,
	...fields,
});

/** A pool of so many replicas, and the addresses in the order in which a session prefers them. */
function pooled(replicas: number, options: PoolOptions = {}) {
	const pool = new Pool(
		Array.from({ length: replicas }, (_, i) => `http://${i}`),
		options,
	);
	const order = [...new Set([...pool.ring.from(SESSION)].map(({ url }) => url))];
	return {
		pool,
		order,
		/** Starts a request that waits with so many tokens. */
		load: (url: string | undefined, tokens: number) => {
			const sent = request(tokens - 64);
			const choice = pool.choose(sent, 0, (replica) => replica.url === url);
			if (choice) pool.start(choice, sent, 0);
		},
		home: (usable: readonly (string | undefined)[] = order) =>
			pool.choose(request(100, { session: SESSION }), 0, ({ url }) => usable.includes(url))?.replica.url,
	};
}

it.each([
	[511, 0],
	[512, 1],
])("expected: a session stays unless another replica saves it 512 tokens: %i", (tokens, place) => {
	const { home, load, order } = pooled(2);
	load(order[0], tokens);
	expect(home()).toBe(order[place]);
});

it.each([
	// 4,096 more than 1.25 times the mean of 5,548.
	[11_031, 65, 0],
	[11_032, 65, 1],
	[10_922, 0, 0],
	[10_923, 0, 1],
])("sticky: a session stays at %i tokens if the other replica has %i", (tokens, others, place) => {
	const { home, load, order } = pooled(2, { policy: "sticky" });
	load(order[0], tokens);
	if (others > 0) load(order[1], others);
	expect(home()).toBe(order[place]);
});

it("sticky: a session prefers the first four places, and then the least loaded replica", () => {
	const { home, load, order } = pooled(6, { policy: "sticky" });
	load(order[3], 100);
	load(order[4], 100);
	expect(home([order[3], order[5]])).toBe(order[3]);
	expect(home([order[4], order[5]])).toBe(order[5]);
});

it.each([
	["no block", request(1_000), 0, 133],
	["its only block", request(600, { blocks: [1] }), 512, 19],
	["its beginning", request(1_124, { blocks: [1, 2] }), 1_024, 20.5],
	// The engine processes at least one token.
	["everything", request(1_024, { blocks: [1, 2] }), 1_023, 8.125],
])("expects milliseconds for a prompt with %s in the cache", (_, sent, cachedTokens, expectedMs) => {
	const { pool } = pooled(1);
	const first = request(1_024, { blocks: [1, 2] });
	const choice = pool.choose(first, 0);
	if (choice) pool.start(choice, first, 0).end(1);
	expect(pool.choose(sent, 1)).toMatchObject({ cachedTokens, expectedMs });
});

it("compares all replicas by their caches if more than four have the prompt", () => {
	const { load, order, pool } = pooled(5);
	const sent = request(1_124, { blocks: [1, 2] });
	for (const url of order) {
		const choice = pool.choose(sent, 0, (replica) => replica.url === url);
		if (choice) pool.start(choice, sent, 0).end(1);
	}
	for (const url of order.slice(0, 4)) load(url, 500);
	// (100 uncached tokens + 64 of the request) / 8.
	expect(pool.choose(sent, 1)).toMatchObject({
		replica: { url: order[4] },
		cachedTokens: 1_024,
		expectedMs: 20.5,
	});
});

it.each([
	[900, 0],
	[1_100, 1],
])("expected: a replica that has the adapter is as good as one with %i ms less to do", (ms, place) => {
	const { pool, load, order } = pooled(2, {});
	const [holder = "", other = ""] = order;
	holders.add(holder, "support", "an id");
	load(holder, Math.ceil(ms * pool.speed));
	const choose = (adapter?: string) =>
		pool.choose(request(100, adapter === undefined ? {} : { adapter }), 0)?.replica.url;
	expect(choose("support")).toBe(order[place]);
	expect(choose("another")).toBe(other);
	expect(choose()).toBe(other);
	holders.delete(holder, "an id");
	expect(choose("support")).toBe(other);
});
