import { describe, expect, it } from "vitest";
import { cachePolicy } from "../../../src/gateways/cache/policy.ts";

const OFF = { cache_ttl: 0 };
const ON = { cache_ttl: 120 };
const ttlOf = (...of: Parameters<typeof cachePolicy>) => cachePolicy(...of)?.ttlSeconds;

describe("cachePolicy", () => {
	it.each([
		["no option", {}, OFF, undefined],
		["no option, and a gateway without a time", {}, { cache_ttl: null }, undefined],
		["the gateway's time", {}, ON, 120],
		["a key alone", { cacheKey: "a" }, OFF, 300],
		["a key, and the gateway's time", { cacheKey: "a" }, ON, 120],
		["a time of a minute", { cacheTtl: 60 }, OFF, 60],
		["a time of less than a minute", { cacheTtl: 59 }, OFF, undefined],
		["a time of less than a minute, and the gateway's", { cacheTtl: 59 }, ON, 120],
		["a time, which has precedence over the gateway's", { cacheTtl: 3_600, cacheKey: "a" }, ON, 3_600],
		["a time above a month", { cacheTtl: 9_999_999 }, ON, 2_678_400],
		["a gateway's time above a month", {}, { cache_ttl: 9_999_999 }, 2_678_400],
		["a time of 0", { cacheTtl: 0, cacheKey: "a" }, ON, undefined],
		["a request that skips the cache", { skipCache: true, cacheTtl: 60 }, ON, undefined],
		["a request that does not skip the cache", { skipCache: false }, ON, 120],
	] as const)("%s", (_, options, settings, expected) => {
		expect(ttlOf(options, settings)).toBe(expected);
	});
});
