/** The share of requests that a shadow receives, and the route that it belongs to. */
import { describe, expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";
import { RequestShare } from "../../src/gateways/shadows/request-share.ts";
import { uniformNumbers } from "../../tools/soak/random.ts";

const chosen = (sample: RequestShare, requests: number): number[] =>
	Array.from({ length: requests }, (_, index) => (sample.next() ? [index] : [])).flat();

describe("the share of a shadow", () => {
	it.each([
		[0.001, 1],
		[0.05, 50],
		[0.25, 250],
		[0.333, 333],
		[1, 1_000],
	])("of %d has exactly %d of each 1,000 requests, whatever the random numbers are", (share, count) => {
		for (const seed of [1, 2, 3]) {
			const sample = new RequestShare(share, uniformNumbers(seed));
			for (let block = 0; block < 3; block++) expect(chosen(sample, 1_000)).toHaveLength(count);
		}
	});

	it("is exact over more requests if its share has more digits", () => {
		expect(chosen(new RequestShare(0.0004, uniformNumbers(4)), 10_000)).toHaveLength(4);
	});

	it("is spread, and not the same each time", () => {
		const half = chosen(new RequestShare(0.5, uniformNumbers(5)), 1_000);
		expect(half).not.toEqual(chosen(new RequestShare(0.5, uniformNumbers(6)), 1_000));
		// Requests of two kinds that take turns: each kind has about a half.
		const even = half.filter((index) => index % 2 === 0).length;
		expect(even).toBeGreaterThan(200);
		expect(even).toBeLessThan(300);
		const tenths = Array.from(
			{ length: 10 },
			(_, tenth) => half.filter((index) => Math.floor(index / 100) === tenth).length,
		);
		expect(Math.min(...tenths)).toBeGreaterThan(30);
	});
});

describe("the setting", () => {
	const BACKENDS = {
		live: { kind: "openai", url: "http://live/v1" },
		next: { kind: "openai", url: "http://next/v1" },
	};
	const routed = (shadow: object, others: object = {}) =>
		configure({ BACKENDS, ROUTES: { "acme/*": { targets: [{ backend: "live" }], shadow }, ...others } });
	const SHADOW = { name: "candidate", backend: "next", model: "two", share: 0.1 };

	it("has the route's models, except those of a more specific route", () => {
		const { shadowRoutes } = routed(SHADOW, { "acme/own": [{ backend: "live" }] });
		expect(shadowRoutes.find("acme/own")).toBeUndefined();
		expect(shadowRoutes.find("other")).toBeUndefined();
		expect(shadowRoutes.find("acme/chat")).toMatchObject({
			...{ name: "candidate", share: 0.1 },
			routed: { targets: [{ backend: "next", urls: ["http://next/v1"], model: "two" }] },
		});
	});

	it.each([
		[{ share: 0 }, "share"],
		[{ share: 1.5 }, "share"],
		[{ name: "a name" }, 'ROUTES["acme/*"].shadow.name'],
		[{ backend: "none" }, 'ROUTES["acme/*"].shadow.backend'],
		[{ judge: "x" }, "judge"],
	])("with %j stops the start with the field", (wrong, field) => {
		expect(() => routed({ ...SHADOW, ...wrong })).toThrow(field);
	});

	it("has a name of its own, because its answers are stored under it", () => {
		expect(() => routed(SHADOW, { other: { targets: [{ backend: "live" }], shadow: SHADOW } })).toThrow(
			"a name of its own",
		);
	});
});
