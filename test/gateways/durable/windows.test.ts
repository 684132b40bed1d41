import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

const NOON = Date.parse("2026-11-21T12:00:00Z");
const newGateway = () => env.GATEWAY.getByName(crypto.randomUUID());

const count = (limit: number, extra: object = {}) => ({
	key: "requests",
	limit,
	unit: "count" as const,
	windowMs: 60_000,
	technique: "fixed" as const,
	...extra,
});

describe("a fixed window", () => {
	it("is aligned to the epoch", async () => {
		const gateway = newGateway();
		expect(await gateway.take([count(2)], NOON + 59_000)).toBeUndefined();
		expect(await gateway.take([count(2)], NOON + 59_500)).toBeUndefined();
		expect(await gateway.take([count(2)], NOON + 59_999)).toBe(0);
		expect(await gateway.take([count(2)], NOON + 60_000)).toBeUndefined();
	});

	it("has room for exactly its limit, also for requests at once", async () => {
		const gateway = newGateway();
		const answers = await Promise.all(Array.from({ length: 500 }, () => gateway.take([count(100)], NOON)));
		expect(answers.filter((full) => full === undefined)).toHaveLength(100);
	});
});

describe("a sliding window", () => {
	it("weights the previous window by its overlap", async () => {
		const gateway = newGateway();
		const window = count(10, { technique: "sliding" });
		for (let i = 0; i < 10; i++) await gateway.take([window], NOON);
		expect(await gateway.take([window], NOON + 59_999)).toBe(0);
		// A quarter of the next window is over: 10 requests weigh 7.5, so there is room for two.
		expect(await gateway.take([window], NOON + 75_000)).toBeUndefined();
		expect(await gateway.take([window], NOON + 75_000)).toBeUndefined();
		expect(await gateway.take([window], NOON + 75_000)).toBe(0);
		// The first window is over: the two weigh 1.
		for (let i = 0; i < 9; i++) expect(await gateway.take([window], NOON + 150_000)).toBeUndefined();
		expect(await gateway.take([window], NOON + 150_000)).toBe(0);
	});
});

it("counts a request in no window if one of them is full", async () => {
	const gateway = newGateway();
	const [narrow, wide] = [count(1, { key: "narrow" }), count(2, { key: "wide" })];
	expect(await gateway.take([wide, narrow], NOON)).toBeUndefined();
	expect(await gateway.take([wide, narrow], NOON)).toBe(1);
	expect(await gateway.take([wide], NOON)).toBeUndefined();
	expect(await gateway.take([wide], NOON)).toBe(0);
});

it("limits a cost that requests add at their end", async () => {
	const gateway = newGateway();
	const cost = count(1, { key: "cost", unit: "cost" as const });
	expect(await gateway.take([cost], NOON)).toBeUndefined();
	await gateway.spend([cost], 0.75, NOON);
	expect(await gateway.take([cost], NOON)).toBeUndefined();
	await gateway.spend([cost], 0.25, NOON);
	expect(await gateway.take([cost], NOON)).toBe(0);
	expect(await gateway.take([cost], NOON + 60_000)).toBeUndefined();
});

it("keeps the counts of different keys and window lengths apart", async () => {
	const gateway = newGateway();
	expect(await gateway.take([count(1, { key: "a" })], NOON)).toBeUndefined();
	expect(await gateway.take([count(1, { key: "b" })], NOON)).toBeUndefined();
	expect(await gateway.take([count(1, { key: "a" })], NOON)).toBe(0);
});
